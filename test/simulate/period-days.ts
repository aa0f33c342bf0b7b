import type { Limits } from '../../src/quota/charge.ts'
import { createMonths } from '../../src/quota/period-days.ts'
import type { Override, Payer } from '../../src/quota/policy.ts'
import type { Window } from '../../src/quota/window.ts'
import type { EndOf } from './calendars.ts'
import type { Random } from './random.ts'
import type { CounterName } from './stored.ts'

/** Whose months may begin with a day of their own. */
interface Owners {
  readonly users: readonly string[]
  readonly organisations: readonly string[]
}

const DAYS = [1, 17, 30, 31]

/**
 * The days with which the months of each user and of each organisation begin in one world. Every user has a day by a claim, and some have
 * another one by an override, which counts. Organisations have theirs by overrides, since their users would name different ones.
 */
export class WorldDays {
  readonly #claimed: ReadonlyMap<string, number>
  readonly #users: ReadonlyMap<string, Override>
  readonly #organisations: ReadonlyMap<string, Override>
  readonly #months: ReturnType<typeof createMonths>

  constructor(random: Random, windows: readonly Window[], { users, organisations }: Owners) {
    const set = (): Override => ({
      limits: new Map(),
      bypassGlobal: false,
      shadow: false,
      periodDay: random.pick(DAYS),
    })
    this.#claimed = new Map(users.map((user) => [user, random.pick(DAYS)]))
    this.#users = new Map(users.filter(() => random.chance(0.4)).map((user) => [user, set()]))
    this.#organisations = new Map(organisations.map((organisation) => [organisation, set()]))
    const overrides = Object.assign(new Map(this.#users), { organisations: this.#organisations, hasPeriodDays: true })
    this.#months = createMonths({ windows, hasNamedDays: true }, overrides, () => null)
  }

  /** As the gateway has them. */
  limitsOf(limits: Limits, user: string, organisation: string | null): Limits {
    const periodDay = this.#claimed.get(user)
    const payer: Payer = { user, organisation, plan: null, ...(periodDay !== undefined && { periodDay }) }
    return this.#months.ofPayer(limits, payer)
  }

  /** When a run ends, by the model. */
  endOf(ends: EndOf, { scope, id }: CounterName, seconds: number, startedAt: number): number {
    if (scope === 'global') return ends(seconds, startedAt)
    const set = (scope === 'personal' ? this.#users : this.#organisations).get(id)?.periodDay
    return ends(seconds, startedAt, set ?? (scope === 'personal' ? this.#claimed.get(id) : undefined))
  }
}
