/** Sessions of the dashboard that were signed out before their end. Every implementation passes test/control/session-store.suite.ts. */
export interface SessionStore {
  /**
   * Notes that a session is good no more.
   * @param id any text of at most 64 characters that says nothing of the session @param forMs how long it would be good still, at least 1
   * @throws StoreError
   */
  endSession(id: string, forMs: number): Promise<void>
  /** @throws StoreError */
  isSessionEnded(id: string): Promise<boolean>
}
