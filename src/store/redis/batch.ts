import { type Batch, type Charge, type Decision, type Refund, settleBatch } from '../../quota/charge.ts'
import { type Counter, running } from '../../quota/counter.ts'
import { StoreError } from '../../quota/store.ts'
import type { Limit } from '../../quota/window.ts'
import { unpack } from '../packed.ts'
import type { Keys } from './keys.ts'

/** A batch in the words of charge.lua. */
export interface EncodedBatch {
  /** The counters' keys, each once. */
  readonly keys: readonly string[]
  readonly json: string
}

/** Gives every distinct thing a 1-based position, as Lua counts. */
function positions<T>(): { of: (thing: T) => number; all: T[] } {
  const known = new Map<T, number>()
  const all: T[] = []
  function of(thing: T): number {
    let position = known.get(thing)
    if (position === undefined) {
      position = all.push(thing)
      known.set(thing, position)
    }
    return position
  }
  return { of, all }
}

export function encodeBatch(batch: Batch, keys: Keys): EncodedBatch {
  const counters = positions<string>()
  // Limits are made once for each change of settings, so their identity is enough to send each set once.
  const limits = positions<readonly Limit[]>()

  function chargeOf({ user, category, cost, limits: { personal, global } }: Charge): number[] {
    const own = [cost, counters.of(keys.counter(user, category)), limits.of(personal)]
    if (global === null) return own
    return [...own, counters.of(keys.counter(null, category)), limits.of(global)]
  }

  function refundsOf({ charge, decision }: Refund): number[][] {
    const { user, category, cost } = charge
    const starts = (list: readonly Limit[], usages: Decision['personal']): number[] =>
      list.flatMap(({ window }, i) => [window.seconds, usages[i]?.startedAt ?? 0])
    const own = [counters.of(keys.counter(user, category)), cost, ...starts(charge.limits.personal, decision.personal)]
    if (charge.limits.global === null || decision.global === null) return [own]
    return [own, [counters.of(keys.counter(null, category)), cost, ...starts(charge.limits.global, decision.global)]]
  }

  const r = batch.refunds.flatMap(refundsOf)
  const c = batch.charges.map(chargeOf)
  const l = limits.all.map((list) => list.flatMap(({ window, limit }) => [window.seconds, limit]))
  return { keys: counters.all, json: JSON.stringify({ l, r, c }) }
}

/**
 * The script answers with its time, its verdicts and the counters as it found them. Every number of the decisions
 * follows from these by the same arithmetic, which costs Redis nothing.
 */
export function decodeReply(reply: unknown, batch: Batch, sent: EncodedBatch, keys: Keys): readonly Decision[] {
  if (!Array.isArray(reply) || typeof reply[0] !== 'number') throw unexpected('no time in the reply')
  const [at, verdicts, ...before] = reply as [number, Buffer, ...(Buffer | null)[]]
  // The script, too, leaves ended windows out before it looks for one.
  const counters = new Map<string, Counter>(sent.keys.map((key, i) => [key, running(unpack(before[i]), at)]))
  const decisions = settleBatch(
    batch,
    (user, category) => {
      const counter = counters.get(keys.counter(user, category))
      if (counter === undefined) throw unexpected('a counter was not asked for')
      return counter
    },
    at,
  )
  if (decisions.map((d) => (d.accepted ? '1' : '0')).join('') !== String(verdicts)) {
    throw unexpected('the script decided otherwise than the arithmetic')
  }
  return decisions
}

function unexpected(what: string): StoreError {
  return new StoreError(`unexpected reply of charge.lua: ${what}`, 'other', 'unknown')
}
