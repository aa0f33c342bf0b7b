/** The repeated log lines of an outage of the store. */
export interface OutageLines {
  /** Sets the share of the limits that each category admits while the store is out. */
  setShares(shares: ReadonlyMap<string, number>): void
  /** The policy by category: `refuse`, or `allow` and a percentage, as in `quota.store_outage`. Empty until it is known. */
  policy(): Readonly<Record<string, string>>
  /** Reports that the store is out. @param reason of this outage */
  begin(reason: string): void
  /** Reports that another try failed. An outage may begin for one reason and continue for another. */
  goOn(reason: string): void
  /** Whether the store is out. */
  isOn(): boolean
  /** Counts a charge that was decided without the store. */
  count(verdict: Verdict): void
  /** Reports that the store responds again, or the log closes. */
  end(): void
}

export type Verdict = 'accepted' | 'refused' | 'unable'

export interface StillOut {
  readonly reason: string
  readonly outMs: number
  readonly policy: Readonly<Record<string, string>>
  /** Charges since the last line, by their outcome. */
  readonly charges: Readonly<Record<Verdict, number>>
}

/** @param everyMs the time between two lines, in milliseconds. A shorter outage has no such line */
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
