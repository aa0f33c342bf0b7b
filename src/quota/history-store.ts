/**
 * What users and organisations used in each run of a window, as long as it is kept. A run that is over moves from its counter into the
 * history when the next one starts. The runs of a window, in its counter and in its history, add up to what was charged.
 */

/** Whose windows have a history. */
export type HistoryScope = 'personal' | 'organisation'

/** The history of one user or organisation. */
export interface OwnerHistory {
  readonly id: string
  /**
   * Calls `visit` for each run that started from `from` on and before `to` (milliseconds since the epoch), in which something was
   * used: by category and window, of these mostly in the order of their starts. The bytes are read anew at each call.
   * What was taken from grants is in no window, and so is not among them.
   * @param only length in seconds of the one window that is asked for. Default all
   */
  eachRun(from: number, to: number, visit: RunVisitor, only?: number): void
  /** Tokens that were taken from each grant, by its id, as long as its run is kept. */
  takenOf(): ReadonlyMap<string, number>
}

/**
 * @param seconds length of the window, its identity
 * @param startedAt of the first charge of the run, in milliseconds since the epoch, also of a calendar window
 * @param isCounted whether it is the one that the counter holds: it runs, or is over and none has started since. A run that was emptied
 *   is not, and never runs again
 */
export type RunVisitor = (
  category: string,
  seconds: number,
  startedAt: number,
  tokens: number,
  isCounted: boolean,
) => void

/** Since when each window is counted in, by `countedName`, in milliseconds since the epoch. Of any other nothing is known. */
export type CountedSince = ReadonlyMap<string, number>

/** For how long runs are kept, and what of it was changed. */
export interface KeptSince {
  /** After their end, in seconds. */
  readonly keptSeconds: number
  /** The same of what was charged before `changedAt`: the least of what was said meanwhile. */
  readonly leastSeconds: number
  /** Of the last change, in milliseconds since the epoch. */
  readonly changedAt: number
}

/** By `longest`, `shorter` and `anonymous`; and `unswept` while runs are to be taken away that need not be kept any more. */
export type KeptStates = ReadonlyMap<string, KeptSince>

/** What gateways have noted of the windows that they count in. */
export interface Counted {
  readonly since: CountedSince
  readonly keeping: KeptStates
}

/**
 * Reads what was used. Nothing that must be kept is missing, and nothing is shown that is older than the store is to keep. Every implementation passes
 * test/quota/history.suite.ts.
 */
export interface HistoryStore {
  /**
   * Notes the windows that gateways count in: one that is new is counted since now, one that is not named any more is forgotten. What was
   * used before a window was counted is in no history of it. It also notes how long the store keeps runs.
   * @param isAnew whether the process begins with what it says: it has started, or was reloaded. Default true
   * @returns whether runs are there that need not be kept any more, as that was made shorter: `forgetRuns` is due
   * @throws StoreError
   */
  noteCounted(names: readonly string[], isAnew?: boolean): Promise<boolean>
  /** Takes away what need not be kept any more, in steps that hold the store for a moment each. @throws StoreError */
  forgetRuns(): Promise<void>
  /** @returns also the store's time @throws StoreError */
  readCounted(): Promise<Counted & { readonly at: number }>
  /**
   * Both are read together: a question of one user or organisation is answered by them.
   * @returns a history without runs for one who has used nothing @throws StoreError
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
   * One step through all users or organisations: some of them, in no order, each once. One may come twice while others come and go. A
   * step holds the store for a moment only, however many there are.
   * @param cursor where the last step ended; `null` begins. Of a text that no step gave the step begins anywhere
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
