/** Access keys that wait to be handed over by a link, each sealed. Every implementation passes test/control/handover-store.suite.ts. */
export interface HandoverStore {
  /**
   * Keeps what a link gives, until it is taken or the time is over.
   * @param id that says nothing of the link @param sealed that nobody reads without the link @param forMs at least 1
   * @throws StoreError
   */
  putHandover(id: string, sealed: string, forMs: number): Promise<void>
  /** Takes it away: of those who ask at once one gets it, and the others get `null`. @throws StoreError */
  takeHandover(id: string): Promise<string | null>
}
