import type { SessionStore } from '../control/session-store.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { Identity } from './http.ts'
import { CLOCKS_APART_MS } from './session-cookie.ts'

/** Knows which sessions were signed out, here or at another gateway. */
export class EndedSessions {
  readonly #store: SessionStore
  readonly #now: () => number
  /** The known ones, with the time at which each would have ended, for when the store does not respond. */
  readonly #known = new Map<string, number>()

  constructor(store: SessionStore, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** Ends a session everywhere. @throws StoreError and then the session has ended only here */
  async end({ session, expiresAt }: Identity): Promise<void> {
    if (session === undefined || expiresAt === null) return
    this.#note(session, expiresAt)
    // The clock of any replica may judge the session.
    await this.#store.endSession(session, expiresAt - this.#now() + CLOCKS_APART_MS)
  }

  /** While the store is out, administrators need the page most, so a session is accepted then unless it is known to have ended. */
  async has({ session, expiresAt }: Identity): Promise<boolean> {
    if (session === undefined || expiresAt === null) return false
    if (this.#known.has(session)) return true
    const isEnded = await this.#store.isSessionEnded(session).catch((error: unknown) => {
      if (error instanceof StoreError) return false
      throw error
    })
    if (isEnded) this.#note(session, expiresAt)
    return isEnded
  }

  #note(session: string, expiresAt: number): void {
    for (const [id, ends] of this.#known) if (ends + CLOCKS_APART_MS < this.#now()) this.#known.delete(id)
    this.#known.set(session, expiresAt)
  }
}
