/** What the log and the dashboard say of it. */
export const ONE_ADDRESS =
  'nearly all requests come from one address: if it is a load balancer, name it in edge.trusted_proxies, or all its clients share what one may hold'

/** Who seems to bring nearly all requests: a load balancer that nobody has named, whose clients share what one address may hold. */
export interface OneAddress {
  /** @param isForwarded whether the request says that it was passed on */
  note(address: string, user: string | null, isForwarded: boolean): void
  /** The address, as long as it looks like that; else `null`. */
  suspect(): string | null
}

/** The least and the most that a period lasts: a service with few requests needs longer to show anything. */
const PERIOD_MS = 20_000
const LONGEST_MS = 300_000
/** Fewer requests in a period say nothing. At three a second they take half a minute. */
const FEW = 100
/** Of those of a period. */
const NEARLY_ALL = 0.9
/** One machine has a few users at most. */
const USERS = 3

/** @param onSuspect hears of each address once an hour at most @param now monotonic, in milliseconds */
export function createOneAddress(onSuspect: (address: string) => void, now = () => performance.now()): OneAddress {
  let since = now()
  let requests = 0
  /** The address that would have the majority, by one vote for and against it a request (Boyer and Moore). */
  let candidate = ''
  let votes = 0
  let isForwarded = false
  const users = new Set<string>()
  let suspected: string | null = null
  /** How long a suspicion lasts without another period: as long as three of the last one. */
  let lastsMs = 0
  const reportedAt = new Map<string, number>()

  function judge(): void {
    const stands = isForwarded || users.size >= USERS
    // Of 90 for and 10 against 80 are left.
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
