/** Alerts notify operators early of a window that fills up, and of an upstream that fails. */

export interface Alert {
  /** The name is unique among all alerts. */
  readonly name: string
  readonly scope: string
  /** The category of the window, and its name; `null` if no window is watched. */
  readonly category: string | null
  readonly window: string | null
  /** The thresholds: shares of the limit, or of the count of the alert, above 0 and at most 1, each once, rising. */
  readonly at: readonly number[]
}

/** A threshold that was reached, as receivers are notified of it. Plain JSON. Times in milliseconds since the epoch, on the store's clock. */
export interface Happening<Scope extends string = string> {
  /** Name of the alert. */
  readonly alert: string
  readonly scope: Scope
  /** The user or the organisation; `null` in any other scope. */
  readonly subject: string | null
  /** The category of the window; `window` is its name. `null` where no window is watched. */
  readonly category: string | null
  readonly window: string | null
  /** The highest threshold that was reached. */
  readonly threshold: number
  /** Used tokens of the window and its limit; for failures the failed requests and all requests. */
  readonly used: number
  readonly limit: number
  /** When the threshold was noticed. */
  readonly at: number
  /** The start of the run of the window, or of the half hour. */
  readonly startedAt: number
  readonly endsAt: number
}

/** Makes a happening the only one of its kind. In one place and run a higher threshold comes once more, and a lower one does not. */
export interface Claim {
  /** The alert, and the owner of the window. */
  readonly place: string
  /** The start of the run. A later run begins anew. */
  readonly run: number
  readonly threshold: number
  readonly endsAt: number
}

export interface Noticed {
  readonly claim: Claim
  readonly happening: Happening
}

/** The least whole number that is a share of an amount. Rounding of the product never makes it one more: 80% of 120 is 96. */
export function leastOf(share: number, amount: number): number {
  return Math.ceil(Number((share * amount).toPrecision(14)))
}
