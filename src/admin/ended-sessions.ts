import type { SessionStore } from '../control/session-store.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { Identity } from './http.ts'
import { CLOCKS_APART_MS } from './session-cookie.ts'

/** Which sessions were signed out, here or at another gateway. */
export class EndedSessions {
  readonly #store: SessionStore
  readonly #now: () => number
  /** Those that are known of, with when each would have ended: for a store that does not respond. */
  readonly #known = new Map<string, number>()

  constructor(store: SessionStore, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** From now on it is good nowhere. @throws StoreError: then it is good no more here alone */
  async end({ session, expiresAt }: Identity): Promise<void> {
    if (session === undefined || expiresAt === null) return
    this.#note(session, expiresAt)
    // By the clock of any replica.
    await this.#store.endSession(session, expiresAt - this.#now() + CLOCKS_APART_MS)
  }

  /** Administrators need the page most while the store is out, so a session is taken for good then, unless it is known to be none. */
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
