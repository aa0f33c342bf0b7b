/** What the log says again and again while the store is out. */
export interface OutageLines {
  /** The share of the limits that each category admits while the store is out. */
  setShares(shares: ReadonlyMap<string, number>): void
  /** By category: `refuse`, or `allow` and the share in percent, as in `quota.store_outage`. Empty until it is known. */
  policy(): Readonly<Record<string, string>>
  /** The store is out. @param reason of this outage */
  begin(reason: string): void
  /** It was asked again, and failed: an outage may begin for one reason and go on for another. */
  goOn(reason: string): void
  /** Whether it is out. */
  isOn(): boolean
  /** A charge was decided without it. */
  count(verdict: Verdict): void
  /** The store answers again, or the log closes. */
  end(): void
}

export type Verdict = 'accepted' | 'refused' | 'unable'

export interface StillOut {
  readonly reason: string
  readonly outMs: number
  readonly policy: Readonly<Record<string, string>>
  /** Charges since the line before, by what became of them. */
  readonly charges: Readonly<Record<Verdict, number>>
}

/** @param everyMs between two lines, in milliseconds; an outage that is shorter has none */
export function createOutageLines(everyMs: number, report: (stillOut: StillOut) => void): OutageLines {
  let policy: Readonly<Record<string, string>> = {}
  let charges = none()
  let timer: NodeJS.Timeout | undefined
  let reason = ''
  let isOn = false

  function begin(first: string): void {
    reason = first
    isOn = true
    const since = performance.now()
    charges = none()
    clearInterval(timer)
    timer = setInterval(() => {
      report({ reason, outMs: Math.round(performance.now() - since), policy, charges })
      charges = none()
    }, everyMs).unref()
  }

  return {
    setShares(shares) {
      policy = Object.fromEntries([...shares].map(([category, share]) => [category, nameOf(share)]))
    },
    policy: () => policy,
    begin,
    goOn(next) {
      reason = next
    },
    count(verdict) {
      charges[verdict]++
    },
    isOn: () => isOn,
    end: () => {
      isOn = false
      clearInterval(timer)
    },
  }
}

function none(): Record<Verdict, number> {
  return { accepted: 0, refused: 0, unable: 0 }
}

function nameOf(share: number): string {
  // A worker has a part of the share: 10% of three workers is 3.333% each.
  return share === 0 ? 'refuse' : `allow ${Number((share * 100).toPrecision(4))}%`
}
