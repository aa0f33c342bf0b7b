/**
 * What users and organisations used in each run of a window, for as long as it is kept. A run that is over moves from its counter into
 * the history when the next run starts. So the runs in the counter and in the history add up to what was charged.
 */

/** Whose windows have a history. */
export type HistoryScope = 'personal' | 'organisation'

/** The history of one user or organisation. */
export interface OwnerHistory {
  readonly id: string
  /**
   * Calls `visit` for each run with usage that started at `from` or later and before `to` (milliseconds since the epoch). Runs
   * come by category and window, mostly in the order of their starts. The bytes are read anew at each call. Tokens that came from
   * grants belong to no window, so they are left out.
   * @param only length in seconds of the one window to visit. Default all windows
   */
  eachRun(from: number, to: number, visit: RunVisitor, only?: number): void
  /** Tokens taken from each grant, by its id, for as long as the run of the grant is kept. */
  takenOf(): ReadonlyMap<string, number>
}

/**
 * @param seconds length of the window, its identity
 * @param startedAt the time of the run's first charge, in milliseconds since the epoch, also for a calendar window
 * @param isCounted whether the counter holds this run: the run is going on, or no later run has started. It is false for a run that was
 * emptied
 */
export type RunVisitor = (
  category: string,
  seconds: number,
  startedAt: number,
  tokens: number,
  isCounted: boolean,
) => void

/** By `countedName`, the moment since which a window is counted, in milliseconds since the epoch. It is unknown for all other windows. */
export type CountedSince = ReadonlyMap<string, number>

/** For how long runs are kept, and how this was changed. */
export interface KeptSince {
  /** How long runs are kept after their end, in seconds. */
  readonly keptSeconds: number
  /** How long runs from before `changedAt` are kept, in seconds. This is the lowest value that was noted since those runs were charged. */
  readonly leastSeconds: number
  /** When the value last changed, in milliseconds since the epoch. */
  readonly changedAt: number
}

/** Keyed by `longest`, `shorter` and `anonymous`. The key `unswept` is present while the store still holds runs that should be deleted. */
export type KeptStates = ReadonlyMap<string, KeptSince>

/** What gateways have noted about the windows that they count in. */
export interface Counted {
  readonly since: CountedSince
  readonly keeping: KeptStates
}

/**
 * Reads what was used. It shows every run that must still be kept, and no run for which the time has passed. Every implementation passes
 * test/quota/history.suite.ts.
 */
export interface HistoryStore {
  /**
   * Notes the windows that gateways count in, and how long the store keeps runs. A new window counts as counted from now on, because its
   * history has nothing from before. A window that is no longer named is forgotten.
   * @param isAnew whether the process has just started or reloaded with these values. Default true
   * @returns whether `forgetRuns` is due, because a shorter time was set
   * @throws StoreError
   */
  noteCounted(names: readonly string[], isAnew?: boolean): Promise<boolean>
  /** Deletes runs that need not be kept any more, in steps that each hold the store for a moment only. @throws StoreError */
  forgetRuns(): Promise<void>
  /** Reads what gateways have noted. `at` is the store's time, in milliseconds since the epoch. @throws StoreError */
  readCounted(): Promise<Counted & { readonly at: number }>
  /**
   * Reads both counter and history, because a question about one owner needs them together.
   * @returns a history without runs for an owner without usage @throws StoreError
   */
  readHistory(
    scope: HistoryScope,
    id: string,
  ): Promise<{
    /** The store's time, in milliseconds since the epoch. */
    readonly at: number
    readonly counted: Counted
    readonly history: OwnerHistory
  }>
  /**
   * One step through all users or organisations. It returns some of them, in no order and each once. If others come and go between
   * steps, an owner may come twice. A step holds the store for a moment only, however many owners there are.
   * @param cursor where the last step ended; `null` begins. A text that came from no step begins at any place
   * @returns `next`: where the following step begins; `null` at the end
   * @throws StoreError
   */
  scanHistory(
    scope: HistoryScope,
    cursor: string | null,
  ): Promise<{
    readonly at: number
    readonly owners: readonly OwnerHistory[]
    readonly next: string | null
  }>
}
