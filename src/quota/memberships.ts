import { GatheredNotes } from '../lib/gathered-notes.ts'
import { type Cache, createCache } from '../lib/second-chance-cache.ts'
import type { Observer, Settled } from '../observe/observation.ts'
import type { Named, Payer } from './payer.ts'

/**
 * The plan, the organisation and the first day of months that the credentials of users name. They are kept for administrators, who have
 * only user ids. No request is decided by them.
 */

/** For each organisation, what the last payer who belongs to it named; `null` if that payer named neither a plan nor a day. */
export function namedByOrganisation(payers: readonly Payer[]): ReadonlyMap<string, Named | null> {
  return new Map(
    payers.flatMap((payer): [string, Named | null][] => {
      const { organisation, plan, ...day } = factsOf(payer)
      if (organisation === null) return []
      return [[organisation, plan === null && day.periodDay === undefined ? null : { plan, ...day }]]
    }),
  )
}

/** What the last credential of a user named. */
export type Membership = Named & Pick<Payer, 'organisation'>

export function factsOf({ plan, organisation, periodDay }: Membership): Membership {
  return { plan, organisation, ...(periodDay !== undefined && { periodDay }) }
}

export function namesNothing({ plan, organisation, periodDay }: Membership): boolean {
  return plan === null && organisation === null && periodDay === undefined
}

/** Every implementation passes test/quota/memberships.suite.ts. */
export interface MembershipStore {
  /**
   * Notes each user once, and the organisation with the user. A user or organisation whose credential names nothing is
   * forgotten. Everything else is remembered for `rememberMs` from now on. @throws StoreError
   */
  noteMemberships(payers: readonly Payer[], rememberMs: number): Promise<void>
  /** What is remembered of each user, in the order of `users`; `null` if nothing is. @throws StoreError */
  readMemberships(users: readonly string[]): Promise<readonly (Membership | null)[]>
  /**
   * What was last named by a credential of a user of each organisation, in the order of the organisations. `null` if that credential named
   * neither a plan nor a day, or if nothing is remembered. @throws StoreError
   */
  readNamed(organisations: readonly string[]): Promise<readonly (Named | null)[]>
}

export interface MembershipsOptions {
  readonly store: Pick<MembershipStore, 'noteMemberships'>
  /** Whether limits may depend on what credentials name. If they do not, nobody is noted. Default yes. */
  readonly namesMatter?: () => boolean
  /** For how many users this process remembers what was noted. Default 50,000. */
  readonly most?: number
  /** How long users gather before they are noted together, in milliseconds. Default 50. */
  readonly gatherMs?: number
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

const DAY_MS = 86_400_000
/** This is longer than usual windows run, so a user who was silent for this long has no usage left. */
const REMEMBER_MS = 35 * DAY_MS

function isSame(a: Membership, b: Membership): boolean {
  return a.plan === b.plan && a.organisation === b.organisation && a.periodDay === b.periodDay
}

/** Outcomes of a charge after which a user is noted. */
const DECIDED: ReadonlySet<Settled['kind']> = new Set(['charged', 'refused', 'shadowed'])

/** Notes each user once a day, and also when the user's credential names something new. */
export class Memberships {
  readonly #namesMatter: () => boolean
  readonly #now: () => number
  /** What was noted about a user in the last day. */
  readonly #noted: Cache<Membership>
  readonly #notes: GatheredNotes<Payer>

  constructor(options: MembershipsOptions) {
    const { store, namesMatter = () => true, most = 50_000, gatherMs, now = () => performance.now() } = options
    this.#namesMatter = namesMatter
    this.#now = now
    this.#noted = createCache(most)
    this.#notes = new GatheredNotes({
      write: (notes) =>
        store.noteMemberships(
          notes.map(([, payer]) => payer),
          REMEMBER_MS,
        ),
      most,
      ...(gatherMs !== undefined && { gatherMs }),
    })
  }

  /** Notes verified users whose charges are accepted or refused, because a limit of their organisation may refuse even the first charge. */
  readonly observer: Observer = (seen) => {
    if (seen.type === 'settled' && DECIDED.has(seen.kind) && seen.isVerified && this.#namesMatter())
      this.note(seen.caller)
  }

  /** Notes what a credential has named for a user. Returns at once; the store learns of it soon. */
  note(payer: Payer): void {
    const { user } = payer
    const now = this.#now()
    const noted = this.#noted.get(user, now)
    if (noted !== undefined && isSame(noted, payer)) return
    const facts = factsOf(payer)
    if (!this.#notes.add(user, { user, ...facts })) return
    this.#noted.set(user, facts, now + DAY_MS, now)
  }

  /** Notes all users who are still waiting to be noted. Never rejects. */
  close(): Promise<void> {
    return this.#notes.close()
  }
}
