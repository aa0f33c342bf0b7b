/** Sessions of the dashboard that were signed out before their end. Every implementation passes test/control/session-store.suite.ts. */
export interface SessionStore {
  /**
   * Notes that a session has ended.
   * @param id any text of at most 64 characters that reveals nothing @param forMs how long the session would last, at least 1
   * @throws StoreError
   */
  endSession(id: string, forMs: number): Promise<void>
  /** @throws StoreError */
  isSessionEnded(id: string): Promise<boolean>
}
