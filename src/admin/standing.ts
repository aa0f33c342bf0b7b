import type { StandingResponse } from '../contract/api.ts'
import type { Counter } from '../quota/counter.ts'
import { type Payer, payerOf } from '../quota/policy.ts'
import type { UsageSnapshot, Used } from '../quota/quota-store.ts'
import { SCOPE_TITLES } from '../quota/refusal.ts'
import {
  type Block,
  type CountersOf,
  countersIn,
  endOfBlock,
  NO_COUNTERS,
  refusesNewcomers,
  type Standing,
  standingOf,
} from '../quota/standing.ts'
import { promised } from '../quota/window.ts'
import type { Desk } from './desk.ts'
import type { View } from './state.ts'
import { readUsed } from './used.ts'

/** A user with everything that decides whether the quota refuses the user now. */
export interface Judged {
  readonly payer: Payer
  readonly standingOf: (used: Used, at: number) => Standing
  /** The standing in the form of the API. */
  readonly shown: (used: Used, at: number) => StandingResponse
}

type Counters = ReadonlyMap<string, Counter>

/** Judges the users of one view. Global counters are read once, and those of an organisation when its first user comes. */
export class Judge {
  readonly #desk: Desk
  readonly #view: View
  readonly #global: Promise<Counters>
  readonly #organisations = new Map<string, Promise<Counters>>()

  constructor(desk: Desk, view: View) {
    this.#desk = desk
    this.#view = view
    this.#global = this.#read('global', '')
    // `of` awaits this promise too, so its caller gets the error.
    this.#global.catch(() => {})
  }

  /** In the order of the users. @throws StoreError */
  async of(users: readonly string[]): Promise<readonly Judged[]> {
    const [payers, global] = await Promise.all([this.#desk.payersOf(users), this.#global])
    if (this.#refusesNewcomers(global)) await this.#desk.learn(users)
    return Promise.all(
      users.map(async (user, i) => {
        const payer = payers[i] ?? payerOf(user)
        const theirs = await this.#organisationOf(payer)
        const countersOf = ({ counters }: Used): CountersOf => ({
          personal: (category) => counters.get(category),
          organisation: theirs === null ? NO_COUNTERS : (category) => theirs.get(category),
          global: (category) => global.get(category),
        })
        return {
          payer,
          standingOf: (used, at) => standingIn(this.#view, payer, at, countersOf(used)),
          shown: (used, at) => shownIn(this.#view, payer, at, countersOf(used)),
        }
      }),
    )
  }

  #refusesNewcomers(global: Counters): boolean {
    const { policy, setup, at } = this.#view
    return refusesNewcomers({ policy, cheapest: setup.cheapest }, (category) => global.get(category), at)
  }

  /** `null` if no window of the organisation limits the user. */
  #organisationOf(payer: Payer): Promise<Counters> | null {
    const { organisation } = payer
    const { policy } = this.#view
    const isLimited = policy.categories.some(
      (category) => (policy.limitsFor(category, payer).organisation ?? []).length > 0,
    )
    if (organisation === null || !isLimited) return null
    const counters = this.#organisations.get(organisation) ?? this.#read('organisation', organisation)
    this.#organisations.set(organisation, counters)
    return counters
  }

  async #read(scope: 'organisation' | 'global', id: string): Promise<Counters> {
    return (await readUsed(this.#desk, this.#view.policy, scope, id)).counters
  }
}

/** The standing of one user. @param snapshot the counters of `countedOf` of the policy, in that order */
export function standingBy(
  view: Pick<View, 'policy' | 'setup' | 'shadow'>,
  payer: Payer,
  snapshot: UsageSnapshot,
): Standing {
  return standingIn(view, payer, snapshot.at, countersIn(view.policy.countedOf(payer), snapshot))
}

function standingIn(
  { policy, setup: { cheapest, exempt }, shadow }: Pick<View, 'policy' | 'setup' | 'shadow'>,
  payer: Payer,
  at: number,
  counters: CountersOf,
): Standing {
  return standingOf({ policy, cheapest, exempt, shadow }, payer, counters, at)
}

/** The standing of one user in the form of the API. @param snapshot as of `standingBy` */
export function standingShown(view: View, payer: Payer, snapshot: UsageSnapshot): StandingResponse {
  return shownIn(view, payer, snapshot.at, countersIn(view.policy.countedOf(payer), snapshot))
}

function shownIn(view: View, payer: Payer, at: number, counters: CountersOf): StandingResponse {
  const { state, block, granted } = standingIn(view, payer, at, counters)
  if (granted !== undefined) {
    return { state, by: null, grants: { ...blockShown(granted.window, granted.window.until), left: granted.left } }
  }
  if (block === null) return { state, by: null }
  const end = endOfBlock({ cheapest: view.setup.cheapest, ahead: view.ahead }, payer, counters, block, at)
  return { state, by: blockShown(block, end) }
}

/** A block as the API shows it. @param end when it is over, infinite for never */
export function blockShown(block: Block, end: number): NonNullable<StandingResponse['by']> {
  const { scope, category, window, used } = block
  const resetAt = end === Number.POSITIVE_INFINITY ? null : new Date(end).toISOString()
  return { scope: SCOPE_TITLES[scope], category, window: window.name, limit: promised(block), used, resetAt }
}
