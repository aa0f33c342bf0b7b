import { type Batch, type Charge, type Decision, settleBatch } from '../../quota/charge.ts'
import type { AheadListener, Counter } from '../../quota/counter.ts'
import type { Onces } from '../../quota/once.ts'
import type { Limit } from '../../quota/window.ts'
import { type EncodedBatch, type Shape, unexpected } from './charge-batch.ts'
import { numbersSize, read48, startAt, usedAt } from './sections.ts'

/** The reply to a batch in our words. This too runs for every charge in the gateway's one thread. */

const PREFIX = 'batch:'.length
/** Letters of the reply. */
const [REFUSED, REPLAYED, REUSED, SPENT] = [0x30, 0x32, 0x33, 0x34]

/**
 * The script replies with its time, its verdicts and the windows as it found them. Every number of the decisions
 * follows from these by the same arithmetic, which costs Redis nothing.
 */
export function decodeReply(
  reply: unknown,
  batch: Batch,
  sent: EncodedBatch,
  onAhead?: AheadListener,
): readonly Decision[] {
  if (!Buffer.isBuffer(reply) || reply.length < PREFIX + 12) throw unexpected('no time in the reply')
  const now = read48(reply, PREFIX + 6)
  const verdicts = PREFIX + 12
  let at = verdicts + batch.charges.length
  for (const { counter, shape } of sent.opened) {
    const end = at + numbersSize(shape.limits.length, shape.isShort)
    if (end > reply.length) throw unexpected('it is too short')
    addWindows(counter, shape, reply, at)
    at = end
  }
  const onces = batch.charges.some(hasKey) ? decidedOnces(batch.charges, reply.subarray(verdicts), at - verdicts) : null
  at += onces?.bytes ?? 0
  if (at !== reply.length) throw unexpected('it has another length')

  // The script opens sections after the refunds.
  const decisions = settleBatch({ refunds: [], charges: batch.charges }, sent.counterOf, now, onAhead, onces)
  for (let i = 0; i < decisions.length; i++) {
    const letter = reply[verdicts + i]
    if (decisions[i]?.accepted !== (letter !== REFUSED && letter !== REUSED)) {
      throw unexpected('the script decided otherwise than the arithmetic')
    }
  }
  return decisions
}

function hasKey({ once }: Charge): boolean {
  return once !== undefined
}

/**
 * What the script made of keys, in the order of the charges that have one.
 * @param letters of the reply: one for each charge
 * @param at where behind them the times of charges begin
 */
function decidedOnces(charges: readonly Charge[], letters: Buffer, at: number): Onces & { readonly bytes: number } {
  const keyed = charges.flatMap((charge, i) => (hasKey(charge) ? [letters[i]] : []))
  let time = at
  let next = 0
  return {
    bytes: 6 * keyed.filter((letter) => letter === REPLAYED).length,
    judge() {
      const letter = keyed[next++]
      if (letter === REUSED) return { kind: 'reused' }
      if (letter !== REPLAYED) return { kind: letter === SPENT ? 'spent' : 'new' }
      time += 6
      return { kind: 'replayed', since: read48(letters, time - 6) }
    },
    keep() {},
    release: (_once, amount) => amount,
  }
}

/**
 * The first reading of a window stays in front and counts if the batch reads the window again. The arithmetic leaves
 * out the windows that have ended.
 */
function addWindows(counter: Counter, { limits, isShort }: Shape, reply: Buffer, at: number): void {
  const windows = limits.length
  for (let i = 0; i < windows; i++) {
    counter.push({
      seconds: (limits[i] as Limit).window.seconds,
      startedAt: startAt(reply, at, i, isShort),
      used: usedAt(reply, at, windows, i, isShort),
    })
  }
}
