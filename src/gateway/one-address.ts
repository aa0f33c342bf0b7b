/** The sentence for the log and the dashboard. */
export const ONE_ADDRESS =
  'nearly all requests come from one address: if it is a load balancer, name it in edge.trusted_proxies, or all its clients share what one may hold'

/** Finds an address that seems to be a load balancer which nobody has configured, so that its clients share its limits. */
export interface OneAddress {
  /** @param isForwarded whether the request says that it was forwarded */
  note(address: string, user: string | null, isForwarded: boolean): void
  /** The address that looks like a load balancer at present; `null` for none. */
  suspect(): string | null
}

/** The shortest and the longest period, in milliseconds. A service with few requests needs longer to show anything. */
const PERIOD_MS = 20_000
const LONGEST_MS = 300_000
/** A period needs at least so many requests to mean anything. At three a second they take half a minute. */
const FEW = 100
/** A share of the requests in a period. */
const NEARLY_ALL = 0.9
/** An address with so many users counts as more than one machine. */
const USERS = 3

/** @param onSuspect is called for each address at most once an hour @param now monotonic, in milliseconds */
export function createOneAddress(onSuspect: (address: string) => void, now = () => performance.now()): OneAddress {
  let since = now()
  let requests = 0
  /** The only address that can have the majority, by one vote for each request (Boyer and Moore). */
  let candidate = ''
  let votes = 0
  let isForwarded = false
  const users = new Set<string>()
  let suspected: string | null = null
  /** For how long a suspicion lasts without another period: three times as long as the last period. */
  let lastsMs = 0
  const reportedAt = new Map<string, number>()

  function judge(): void {
    const stands = isForwarded || users.size >= USERS
    // 90 votes for it and 10 against it leave 80.
    suspected = requests >= FEW && stands && votes >= requests * (2 * NEARLY_ALL - 1) ? candidate : null
    if (suspected !== null && now() - (reportedAt.get(suspected) ?? Number.NEGATIVE_INFINITY) >= HOUR_MS)
      report(suspected)
    lastsMs = 3 * (now() - since)
    requests = 0
    votes = 0
    isForwarded = false
    users.clear()
    since = now()
  }

  function report(address: string): void {
    for (const [known, at] of reportedAt) if (now() - at >= HOUR_MS) reportedAt.delete(known)
    reportedAt.set(address, now())
    onSuspect(address)
  }

  function note(address: string, user: string | null, forwarded: boolean): void {
    const elapsed = now() - since
    if (elapsed >= PERIOD_MS && (requests >= FEW || elapsed >= LONGEST_MS)) judge()
    requests++
    if (votes === 0) candidate = address
    if (address !== candidate) {
      votes--
      return
    }
    votes++
    isForwarded ||= forwarded
    if (user !== null && users.size < USERS) users.add(user)
  }

  return { note, suspect: () => (now() - since < lastsMs ? suspected : null) }
}

const HOUR_MS = 3_600_000
