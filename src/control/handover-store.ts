/** Access keys that wait to be handed over by a link, encrypted. Every implementation passes test/control/handover-store.suite.ts. */
export interface HandoverStore {
  /**
   * Keeps what a link gives until it is taken or its time is over.
   * @param id reveals nothing of the link @param sealed can be read only with the link @param forMs at least 1
   * @throws StoreError
   */
  putHandover(id: string, sealed: string, forMs: number): Promise<void>
  /** Removes and returns what a link gives. If several ask at once, one gets it and the others get `null`. @throws StoreError */
  takeHandover(id: string): Promise<string | null>
}
