import type { Limits } from '../../src/quota/charge.ts'
import { accountOf, type Grant, type Grants } from '../../src/quota/grant.ts'
import type { Random } from './random.ts'
import type { CounterName } from './stored.ts'

/** Whose grants a world has: of users and organisations, in each category. */
export interface Owners {
  readonly users: readonly string[]
  readonly organisations: readonly string[]
  readonly categories: readonly string[]
}

/** Longer than any world, so that no run of a grant ends in one. */
const SECONDS = 400 * 86_400
const NONE: readonly Grant[] = []

/** The account of a grant, as a counter. Each owner may have two grants in each category. */
export function accountsOf({ users, organisations, categories }: Owners): CounterName[] {
  const of = (scope: 'personal' | 'organisation', ids: readonly string[]): CounterName[] =>
    ids.flatMap((id, i) =>
      categories.flatMap((category) =>
        [1, 2].map((n): CounterName => ({ scope, id, category: accountOf(`${scope[0]}${i}${category}${n}`) })),
      ),
    )
  return [...of('personal', users), ...of('organisation', organisations)]
}

/** The grants of one world. They are given before it begins, and some end in it. */
export class WorldGrants {
  readonly #grants = new Map<string, readonly Grant[]>()
  /** By the limits without grants, then by whose they are. */
  readonly #known = new WeakMap<Limits, Map<string, Limits>>()

  /** @param begins the wall clock at the start of the world, in milliseconds since the epoch @param lastsMs how long it goes on */
  constructor(random: Random, owners: Owners, begins: number, lastsMs: number) {
    for (const { scope, id, category } of accountsOf(owners)) {
      if (!random.chance(0.4)) continue
      const until = begins + random.pick([0.5, 1, 1.5, 40]) * lastsMs
      const grant: Grant = {
        id: category.slice(1),
        window: { name: 'grant', seconds: SECONDS },
        limit: random.integer(1, 30),
        until: Math.round(until),
      }
      const place = `${scope} ${id} ${owners.categories.find((of) => category.includes(of))}`
      const all = [...(this.#grants.get(place) ?? NONE), grant]
      this.#grants.set(
        place,
        all.sort((a, b) => a.until - b.until || (a.id < b.id ? -1 : 1)),
      )
    }
  }

  /** The same object for the same limits and owners. */
  limitsOf(limits: Limits, category: string, user: string, organisation: string | null): Limits {
    const grants: Grants = {
      personal: this.#grants.get(`personal ${user} ${category}`) ?? NONE,
      organisation: this.#grants.get(`organisation ${organisation} ${category}`) ?? NONE,
    }
    if (grants.personal.length + grants.organisation.length === 0) return limits
    const name = JSON.stringify([category, user, organisation])
    const known = this.#known.get(limits) ?? new Map<string, Limits>()
    const granted = known.get(name) ?? { ...limits, grants }
    this.#known.set(limits, known.set(name, granted))
    return granted
  }
}
