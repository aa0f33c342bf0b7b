import type { SessionStore } from '../control/session-store.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { Identity } from './http.ts'
import { CLOCKS_APART_MS } from './session-cookie.ts'

/** Knows which sessions were signed out, here or at another gateway. */
export class EndedSessions {
  readonly #store: SessionStore
  readonly #now: () => number
  /** Sessions that are known to be signed out, with the time at which each would have ended by itself. They are refused even without the store. */
  readonly #known = new Map<string, number>()

  constructor(store: SessionStore, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** Ends a session everywhere. @throws StoreError if the session has ended at this gateway only */
  async end({ session, expiresAt }: Identity): Promise<void> {
    if (session === undefined || expiresAt === null) return
    this.#note(session, expiresAt)
    // The clock of any replica may judge the session.
    await this.#store.endSession(session, expiresAt - this.#now() + CLOCKS_APART_MS)
  }

  /** Whether a session was signed out. Without the store only known ends count, because administrators need the page most during an outage. */
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
