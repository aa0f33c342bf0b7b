import { type CounterOf, settleBatch } from '../quota/arithmetic.ts'
import type { Charge, Decision, Refund } from '../quota/charge.ts'
import { chargeOf } from '../quota/charge-of.ts'
import type { ScopeName } from '../quota/charged-scopes.ts'
import type { Counter } from '../quota/counter.ts'
import type { Policy } from '../quota/policy.ts'
import { violations } from '../quota/refusal.ts'
import type { Reserve } from '../quota/reserve.ts'
import { promised } from '../quota/window.ts'
import type { Entry } from './entry.ts'
import type { Journal } from './journal.ts'
import type { Tariff, TariffMeter, Tariffs, UnchargedReason } from './tariffs.ts'

/** The limit that a refusal names. */
export interface Refusing {
  readonly scope: ScopeName
  readonly category: string
  readonly window: string
  readonly limit: number
}

/** Hears of each request, in the order of arrival. */
export interface Listener {
  charged(entry: Entry, tariff: Tariff): void
  refused(entry: Entry, tariff: Tariff, by: Refusing): void
  /** The request would have been refused, and shadow would have let it through. */
  shadowed(entry: Entry, tariff: Tariff, by: Refusing): void
  uncharged(entry: Entry, why: UnchargedReason): void
}

export interface DecideOptions {
  readonly tariffs: Tariffs
  readonly policy: Policy
  /** The known users that the policy asks about; `null` if no part of a limit is kept for them. */
  readonly known: KnownByLog | null
  readonly listener: Listener
}

/**
 * Decides all requests again by the arithmetic of the gateway, on the clock of the log. The counters begin empty: earlier usage is not
 * in the log.
 */
export function decideAll(journal: Journal, { tariffs, policy, known, listener }: DecideOptions): void {
  const counterOf = createCounters()
  /** Charges whose amount the response changes, by their places in the journal. */
  const open = new Map<number, readonly Refund[]>()
  /** The ids of tunnels that were refused. */
  const closed = new Set<string>()

  function decide(entry: Entry, position: number): void {
    const tariff = closed.has(entry.tunnel?.id ?? '') ? CLOSED : tariffs(entry)
    if (tariff.kind === 'uncharged') {
      listener.uncharged(entry, tariff.why)
      return
    }
    known?.note(tariff.payer.user, entry.at)
    for (let i = 0; i < tariff.times && !closed.has(entry.tunnel?.id ?? ''); i++) charge(entry, tariff, position)
  }

  function charge(entry: Entry, tariff: Tariff, position: number): void {
    const [first, ...others] = tariff.meters as [TariffMeter, ...TariffMeter[]]
    const charge = chargeOf(tariff.payer, first, others, policy)
    const [decision] = settleBatch({ refunds: [], charges: [charge] }, counterOf, entry.at) as [Decision]
    if (decision.accepted) {
      listener.charged(entry, tariff)
      const refunds = tariff.meters.flatMap(({ cost, finalCost }, meter): Refund[] =>
        cost === finalCost ? [] : [{ charge, decision, meter, amount: cost - finalCost }],
      )
      if (refunds.length > 0) open.set(position, refunds)
      return
    }
    const by = refusingOf(charge, decision)
    if (tariff.isShadowed) {
      listener.shadowed(entry, tariff, by)
      return
    }
    listener.refused(entry, tariff, by)
    if (entry.tunnel !== undefined) closed.add(entry.tunnel.id)
  }

  function settle(position: number): void {
    const refunds = open.get(position)
    if (refunds === undefined) return
    open.delete(position)
    settleBatch({ refunds, charges: [] }, counterOf, 0)
  }

  journal.forEach(decide, settle)
}

const CLOSED = { kind: 'uncharged', why: 'closed' } as const

function refusingOf(charge: Charge, decision: Decision): Refusing {
  const [worst] = violations(charge, decision)
  if (worst === undefined) throw new Error('a refusal without a limit')
  const { meter, scope, limit } = worst
  return { scope, category: meter.category, window: limit.window.name, limit: promised(limit) }
}

function createCounters(): CounterOf {
  const scopes: Record<ScopeName, Counters> = { personal: new Map(), organisation: new Map(), global: new Map() }
  return (scope, id, category) => made(made(scopes[scope], category, newMap), id, newCounter)
}

type Counters = Map<string, Map<string, Counter>>

const newMap = (): Map<string, Counter> => new Map()
const newCounter = (): Counter => []

function made<T>(map: Map<string, T>, key: string, make: () => T): T {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}

/** The known users by the log alone: their first request came at least `knownAfterMs` before the present one. */
export class KnownByLog {
  readonly #knownAfterMs: number
  readonly #first = new Map<string, number>()
  #now = 0

  constructor({ knownAfterMs }: Pick<Reserve, 'knownAfterMs'>) {
    this.#knownAfterMs = knownAfterMs
  }

  readonly isKnown = (user: string): boolean => {
    const first = this.#first.get(user)
    return first !== undefined && this.#now - first >= this.#knownAfterMs
  }

  /** Notes that a request of a user came. */
  note(user: string, at: number): void {
    this.#now = at
    if (!this.#first.has(user)) this.#first.set(user, at)
  }
}
