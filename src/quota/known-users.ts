import { GatheredNotes } from '../lib/gathered-notes.ts'
import { type Cache, createCache } from '../lib/second-chance-cache.ts'
import type { Observer } from '../observe/observation.ts'
import type { Reserve } from './reserve.ts'

/** Remembers since when users have charged. Every implementation passes test/quota/known-users.suite.ts. */
export interface KnownUserStore {
  /**
   * Notes users who have charged a moment ago, and remembers them for `rememberMs` from now on.
   * @returns how long ago each of them charged first, in milliseconds: 0 for one who was not remembered
   * @throws StoreError
   */
  noteUsers(users: readonly string[], rememberMs: number): Promise<readonly number[]>
  /** How long ago a user charged first, in milliseconds; `null` for a user who is not remembered. Notes nothing. @throws StoreError */
  knownFor(user: string): Promise<number | null>
}

export interface KnownUsersOptions {
  readonly store: KnownUserStore
  /** The reserve in force; `undefined` for none, and then no user is noted. */
  readonly reserve: () => Reserve | undefined
  /** For how many users the store's reply is remembered. Default 50,000. */
  readonly most?: number
  /** How long users gather before they are noted together, in milliseconds. Default 50. */
  readonly gatherMs?: number
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

/** What the store said about one user. All times are monotonic milliseconds. */
interface Known {
  /** When the user charged first; infinite for a user who was not remembered. */
  readonly since: number
  /** From when on a charge of the user is noted again. */
  readonly noteFrom: number
}

const DAY_MS = 86_400_000
/** How long nobody is looked up after a failure of the store, in milliseconds. */
const PAUSE_MS = 1000

/**
 * What one process knows about users. A request waits for the store only if it would be refused because its user counts
 * as new.
 *
 * | State of a user | A charge is accepted | A charge is refused | Next |
 * |---|---|---|---|
 * | unasked: counts as new | is noted soon | the store is asked | noted, or looked up |
 * | looked up | is noted soon | nothing | noted; unasked when the reply is too old |
 * | noted | nothing for a day, or a tenth of `rememberMs` | nothing | unasked after `rememberMs` without a note |
 *
 * While the store is out, nobody becomes looked up or noted. If a process has no room for a user, it asks the store again.
 */
export class KnownUsers {
  readonly #store: KnownUserStore
  readonly #reserve: KnownUsersOptions['reserve']
  readonly #now: () => number
  readonly #users: Cache<Known>
  readonly #notes: GatheredNotes<true>
  readonly #lookUps = new Map<string, Promise<boolean>>()
  #pausedUntil = Number.NEGATIVE_INFINITY

  constructor({ store, reserve, most = 50_000, gatherMs = 50, now = () => performance.now() }: KnownUsersOptions) {
    this.#store = store
    this.#reserve = reserve
    this.#users = createCache(most)
    this.#notes = new GatheredNotes({ write: (notes) => this.#noteAll(notes.map(([user]) => user)), most, gatherMs })
    this.#now = now
  }

  /** Whether the user is known, as far as this process knows. */
  readonly isKnown = (user: string): boolean => {
    const reserve = this.#reserve()
    if (reserve === undefined) return false
    const now = this.#now()
    const known = this.#users.get(user, now)
    return known !== undefined && now - known.since >= reserve.knownAfterMs
  }

  /**
   * Whether the user is known; `null` if this process remembers no reply of the store about the user. Such a user counts as new until a
   * refusal makes the process ask the store.
   */
  standing(user: string): boolean | null {
    return this.#users.get(user, this.#now()) === undefined ? null : this.isKnown(user)
  }

  /** Notes users whose charges are accepted. */
  readonly observer: Observer = (seen) => {
    if (seen.type === 'settled' && (seen.kind === 'charged' || seen.kind === 'repeated')) this.note(seen.charge.user)
  }

  /** Notes that a charge of the user was accepted. Returns at once; the store learns of it soon. */
  note(user: string): void {
    if (this.#reserve() === undefined) return
    const now = this.#now()
    const known = this.#users.get(user, now)
    if (known === undefined || now >= known.noteFrom) this.#notes.add(user, true)
  }

  /**
   * Asks the store about a user that this process does not know. Never rejects: without a reply the user stays new.
   * @returns whether the user is known now and was not before
   */
  lookUp(user: string): boolean | Promise<boolean> {
    if (this.#reserve() === undefined) return false
    const now = this.#now()
    if (now < this.#pausedUntil || this.#users.get(user, now) !== undefined) return false
    let lookUp = this.#lookUps.get(user)
    if (lookUp === undefined) {
      lookUp = this.#ask(user).finally(() => this.#lookUps.delete(user))
      this.#lookUps.set(user, lookUp)
    }
    return lookUp
  }

  /** Notes all users who are still waiting to be noted. Never rejects. */
  close(): Promise<void> {
    return this.#notes.close()
  }

  async #ask(user: string): Promise<boolean> {
    try {
      const age = await this.#store.knownFor(user)
      const reserve = this.#reserve()
      if (reserve === undefined) return false
      const now = this.#now()
      // Another process may note the user at any moment, and the user is known from `knownAfterMs` after that.
      const keepMs = age === null ? Math.min(reserve.knownAfterMs, noteAgainMs(reserve)) : noteAgainMs(reserve)
      const since = age === null ? Number.POSITIVE_INFINITY : now - age
      this.#users.set(user, { since, noteFrom: now }, now + keepMs, now)
      return now - since >= reserve.knownAfterMs
    } catch {
      this.#pausedUntil = this.#now() + PAUSE_MS
      return false
    }
  }

  async #noteAll(users: readonly string[]): Promise<void> {
    const reserve = this.#reserve()
    if (reserve === undefined) return
    const ages = await this.#store.noteUsers(users, reserve.rememberMs).catch((error: unknown) => {
      this.#pausedUntil = this.#now() + PAUSE_MS
      throw error
    })
    const now = this.#now()
    for (const [i, user] of users.entries()) {
      const known = { since: now - (ages[i] ?? 0), noteFrom: now + noteAgainMs(reserve) }
      this.#users.set(user, known, now + reserve.rememberMs, now)
    }
  }
}

/** How often a user who charges all the time is noted, in milliseconds. */
function noteAgainMs({ rememberMs }: Reserve): number {
  return Math.min(DAY_MS, rememberMs / 10)
}
