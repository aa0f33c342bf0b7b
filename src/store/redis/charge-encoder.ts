import type { CounterOf } from '../../quota/arithmetic.ts'
import { type Calendar, type Period, periodOf } from '../../quota/calendar.ts'
import type { Batch, Charge, Limits } from '../../quota/charge.ts'
import { countedIn, SCOPE_NAMES } from '../../quota/charged-scopes.ts'
import type { Counter } from '../../quota/counter.ts'
import type { Retention } from '../../quota/history.ts'
import type { Shape } from './batch-text.ts'
import { type EncodedBatch, encodeBatch, notAsked } from './charge-batch.ts'
import type { Keys } from './keys.ts'

/** What batches of one charge have in common if they differ only in names. */
interface Kind {
  readonly category: string
  readonly cost: number
  readonly hasTheirs: boolean
  readonly retention: Retention
  readonly isAnonymous: boolean
  /** The texts are valid within this time, because all the calendar periods that they name go on for so long. */
  readonly holds: Period
  readonly json: string
  readonly charges: string
  /** The shapes in the order in which the script opens their sections. */
  readonly shapes: readonly Shape[]
}

/** How many kinds are kept for the same limits, about 350 bytes each. A charge of a further kind is encoded anew. */
const MOST_KINDS = 16

/**
 * Encodes like `encodeBatch`. At everyday rates most batches have one charge. Such a batch is made from its names and an earlier
 * batch of its kind, in a fifth of the time.
 */
export function createEncoder(keys: Keys): (batch: Batch, now: number, retention: Retention) => EncodedBatch {
  /** Limits are the same objects until the settings change. */
  const known = new WeakMap<Limits, Kind[]>()

  return (batch, now, retention) => {
    const charge = batch.charges[0]
    if (charge === undefined || !isPlain(batch, charge)) return encodeBatch(batch, keys, now, retention)
    const kinds = known.get(charge.limits) ?? []
    const { category, cost, limits } = charge
    const hasTheirs = countedIn(charge).organisation.length > 0
    const isAnonymous = retention.isAnonymous(charge.user)
    const kind = kinds.find(
      (each) =>
        each.cost === cost &&
        isWithin(each.holds, now) &&
        each.category === category &&
        each.hasTheirs === hasTheirs &&
        each.retention === retention &&
        each.isAnonymous === isAnonymous,
    )
    if (kind !== undefined) return encodeAs(kind, batch.instance, charge, keys)
    const sent = encodeBatch(batch, keys, now, retention)
    const { json, charges } = sent
    const shapes = sent.opened.map(({ shape }) => shape)
    const holds = periodsAround(charge, now)
    const fresh = kinds.filter((each) => isWithin(each.holds, now))
    if (fresh.length < MOST_KINDS)
      fresh.push({ category, cost, hasTheirs, retention, isAnonymous, holds, json, charges, shapes })
    known.set(limits, fresh)
    return sent
  }
}

/** A charge without a window of the user is rare: all its windows are unlimited, and no books are kept. */
function isPlain({ refunds, charges }: Batch, charge: Charge): boolean {
  const { once, forced, others, limits } = charge
  const isAlone = charges.length === 1 && refunds.length === 0
  return (
    isAlone &&
    once === undefined &&
    forced === undefined &&
    others === undefined &&
    limits.grants === undefined &&
    countedIn(charge).personal.length > 0
  )
}

function isWithin({ from, to }: Period, now: number): boolean {
  return from <= now && now < to
}

/** The time during which all calendar windows of a charge stay in their present period. */
function periodsAround(charge: Charge, now: number): Period {
  const counted = countedIn(charge)
  const calendars = SCOPE_NAMES.flatMap((scope) => counted[scope].flatMap(({ window }) => window.calendar ?? []))
  const periods = calendars.map((calendar: Calendar) => periodOf(calendar, now))
  return {
    from: Math.max(Number.NEGATIVE_INFINITY, ...periods.map(({ from }) => from)),
    to: Math.min(Number.POSITIVE_INFINITY, ...periods.map(({ to }) => to)),
  }
}

function encodeAs(
  { json, charges, shapes, hasTheirs }: Kind,
  instance: string,
  charge: Charge,
  keys: Keys,
): EncodedBatch {
  const { user, organisation, category, limits } = charge
  const names = [keys.instance(instance), keys.user(user)]
  if (limits.global !== null) names.push(keys.everybody(category))
  if (hasTheirs) names.push(keys.organisation(organisation ?? ''))
  const opened = shapes.map((shape) => ({ counter: [] as Counter, shape }))
  const [own, second, third] = opened
  const counters = { personal: own, organisation: second, global: hasTheirs ? third : second }
  const counterOf: CounterOf = (scope) => {
    const section = counters[scope]
    if (section === undefined) throw notAsked()
    return section.counter
  }
  return { keys: names, json, charges, opened, counterOf }
}
