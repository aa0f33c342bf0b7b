import { type Cache, createCache } from '../lib/second-chance-cache.ts'
import type { Observer } from '../observe/observation.ts'
import type { Payer } from './policy.ts'

/**
 * The plan and the organisation that the credentials of users name, for administrators, who have only user ids. No request is
 * decided by it.
 */

/** By organisation, the plan that the last of these named. */
export function plansByOrganisation(payers: readonly Payer[]): ReadonlyMap<string, string | null> {
  return new Map(payers.flatMap(({ organisation, plan }) => (organisation === null ? [] : [[organisation, plan]])))
}

/** What the last credential of a user named. */
export type Membership = Pick<Payer, 'plan' | 'organisation'>

/** Every implementation passes test/quota/memberships.suite.ts. */
export interface MembershipStore {
  /**
   * Each user once, and with the user the organisation. What names nothing is forgotten; the rest is remembered from now on for
   * `rememberMs`. @throws StoreError
   */
  noteMemberships(payers: readonly Payer[], rememberMs: number): Promise<void>
  /** In the order of the users; `null` for one of whom nothing is remembered. @throws StoreError */
  readMemberships(users: readonly string[]): Promise<readonly (Membership | null)[]>
  /**
   * The plans that the credentials of users of these organisations named last, in their order; `null` if that one named none, or
   * nothing is remembered. @throws StoreError
   */
  readPlans(organisations: readonly string[]): Promise<readonly (string | null)[]>
}

export interface MembershipsOptions {
  readonly store: Pick<MembershipStore, 'noteMemberships'>
  /** Whether limits may depend on what credentials name: nobody is noted if not. Default they may. */
  readonly namesMatter?: () => boolean
  /** Users of whom is kept what was noted. Default 50,000. */
  readonly most?: number
  /** How long users gather before they are noted together, in milliseconds. Default 50. */
  readonly gatherMs?: number
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

const DAY_MS = 86_400_000
/** Longer than the runs of usual windows: a user who is silent for so long has used nothing. */
const REMEMBER_MS = 35 * DAY_MS
/** Users in one call: it bounds how long it holds the store. */
const MOST_NOTED = 256
/** After a failure of the store. */
const PAUSE_MS = 1000

/** Notes each user once a day, and when the user's credential names something else. */
export class Memberships {
  readonly #store: MembershipsOptions['store']
  readonly #namesMatter: () => boolean
  readonly #most: number
  readonly #gatherMs: number
  readonly #now: () => number
  /** What was noted of a user, for a day. */
  readonly #noted: Cache<Membership>
  readonly #toNote = new Map<string, Payer>()
  #noting: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(options: MembershipsOptions) {
    const { store, namesMatter = () => true, most = 50_000, gatherMs = 50, now = () => performance.now() } = options
    this.#store = store
    this.#namesMatter = namesMatter
    this.#most = most
    this.#gatherMs = gatherMs
    this.#now = now
    this.#noted = createCache(most)
  }

  /** Notes whose charges are accepted, if it is known who they are. */
  readonly observer: Observer = (seen) => {
    if (seen.type === 'settled' && seen.kind === 'charged' && seen.isVerified && this.#namesMatter())
      this.note(seen.caller)
  }

  /** A credential has named these for a user. Returns at once; the store is asked to note it soon. */
  note({ user, plan, organisation }: Payer): void {
    const now = this.#now()
    const noted = this.#noted.get(user, now)
    if (noted !== undefined && noted.plan === plan && noted.organisation === organisation) return
    if (this.#toNote.size >= this.#most) return
    this.#noted.set(user, { plan, organisation }, now + DAY_MS, now)
    this.#toNote.set(user, { user, plan, organisation })
    this.#noteSoon(this.#gatherMs)
  }

  /** Notes whoever is still to be noted. Never rejects. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    await this.#noting
    await this.#noteAll()
  }

  #noteSoon(waitMs: number): void {
    if (this.#timer !== null || this.#noting !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#noting = this.#noteAll().then((isDone) => {
        this.#noting = null
        if (this.#toNote.size > 0) this.#noteSoon(isDone ? this.#gatherMs : PAUSE_MS)
      })
    }, waitMs).unref()
  }

  /** Goes on until all are noted. @returns `false` if the store fails: whoever is left is noted later */
  async #noteAll(): Promise<boolean> {
    for (let some = this.#next(); some.length > 0; some = this.#next()) {
      try {
        await this.#store.noteMemberships(some, REMEMBER_MS)
      } catch {
        return false
      }
      // Of whom something else was named meanwhile is noted once more.
      for (const payer of some) if (this.#toNote.get(payer.user) === payer) this.#toNote.delete(payer.user)
    }
    return true
  }

  #next(): Payer[] {
    const some: Payer[] = []
    for (const payer of this.#toNote.values()) if (some.push(payer) === MOST_NOTED) break
    return some
  }
}
