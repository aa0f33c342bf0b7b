import { settleBatch } from '../../quota/arithmetic.ts'
import type { Batch, Charge, Decision } from '../../quota/charge.ts'
import type { AheadListener, Counter } from '../../quota/counter.ts'
import type { ChargedRun, Onces, Receipt } from '../../quota/once.ts'
import { reportMade, reportOf } from '../../quota/receipt.ts'
import type { Limit } from '../../quota/window.ts'
import { read48 } from '../numbers.ts'
import type { Shape } from './batch-text.ts'
import { type EncodedBatch, unexpected } from './charge-batch.ts'
import { numbersSize, startAt, usedAt } from './form/section.ts'

/** Decodes the reply to a batch. Like the encoding, this runs for every charge in the gateway's one thread. */

const PREFIX = 'batch:'.length
/** The letters of the reply. */
const [REFUSED, REPLAYED, REUSED, SPENT] = [0x30, 0x32, 0x33, 0x34]

/**
 * The script replies with its time, its verdicts, and the windows as it found them. From these the arithmetic that SQLite uses
 * too makes all numbers of the decisions, which costs Redis nothing.
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
    const end = at + numbersSize(shape.limits.length, shape.isWide)
    if (end > reply.length) throw unexpected('it is too short')
    addWindows(counter, shape, reply, at)
    at = end
  }
  const onces = batch.charges.some(hasKey) ? decidedOnces(batch.charges, reply.subarray(verdicts), at - verdicts) : null
  at += onces?.bytes ?? 0
  const made: number[] = []
  for (const refund of batch.refunds) {
    if (reportOf(refund) === null) continue
    if (at + 6 > reply.length) throw unexpected('it is too short')
    made.push(read48(reply, at) - 2 ** 47)
    at += 6
  }
  if (at !== reply.length) throw unexpected('it has another length')

  // The script opens sections only after it has made the refunds.
  const decisions = settleBatch({ refunds: [], charges: batch.charges }, sent.counterOf, now, onAhead, onces)
  for (let i = 0; i < decisions.length; i++) {
    const letter = reply[verdicts + i]
    if (decisions[i]?.accepted !== (letter !== REFUSED && letter !== REUSED)) {
      throw unexpected('the script decided otherwise than the arithmetic')
    }
  }
  reportMade(batch.refunds, made)
  return decisions
}

function hasKey({ once }: Charge): boolean {
  return once !== undefined
}

/**
 * What the script decided about keys, in the order of the charges that have one.
 * @param letters the reply from its letters on, one for each charge
 * @param at where the part about the charges that pay for repetitions begins in it
 */
function decidedOnces(charges: readonly Charge[], letters: Buffer, at: number): Onces & { readonly bytes: number } {
  const keyed = charges.flatMap((charge, i) => (hasKey(charge) ? [letters[i]] : []))
  const payers: { readonly since: number; readonly receipt: Receipt }[] = []
  let end = at
  for (const letter of keyed) {
    if (letter !== REPLAYED) continue
    if (end + 8 > letters.length) throw unexpected('it is too short')
    const length = letters.readUInt16BE(end + 6)
    payers.push({ since: read48(letters, end), receipt: receiptIn(letters.subarray(end + 8, end + 8 + length)) })
    end += 8 + length
  }
  let [next, paid] = [0, 0]
  return {
    bytes: end - at,
    judge() {
      const letter = keyed[next++]
      if (letter === REUSED) return { kind: 'reused' }
      if (letter !== REPLAYED) return { kind: letter === SPENT ? 'spent' : 'new' }
      const payer = payers[paid++]
      if (payer === undefined) throw unexpected('nothing pays for a repetition')
      return { kind: 'replayed', ...payer }
    },
    keep() {},
    report: () => 0,
  }
}

/** The form is described in once.lua and at `receiptText`. */
function receiptIn(bytes: Buffer): Receipt {
  const count = bytes[0] ?? 0
  const words: ReceiptWords = JSON.parse(bytes.toString('utf8', 1 + 6 * count))
  let at = 1
  const next = ({ 0: category, 1: organisation, 2: own, 3: theirs, 4: all }: ReceiptWords): Receipt => {
    const [personal = [], ofOrganisation = [], global = []] = [own, theirs, all].map((list) =>
      list.flatMap((run): ChargedRun[] => {
        at += 6
        const startedAt = read48(bytes, at - 6)
        if (typeof run === 'number') return [{ seconds: run, startedAt }]
        return startedAt === 0 ? [] : [{ grant: run[0], seconds: run[1], startedAt }]
      }),
    )
    return { category, organisation, runs: { personal, organisation: ofOrganisation, global } }
  }
  const first = next(words)
  const others = words.slice(RECEIPT_WORDS) as ReceiptWords[]
  return others.length === 0 ? first : { ...first, others: others.map(next) }
}

/** Category, organisation, and the windows and grants of each scope, as `receiptWords` writes them. The same for each further meter follows. */
type ReceiptWords = [string, string | null, RunWords, RunWords, RunWords, ...unknown[]]
type RunWords = (number | [grant: string, seconds: number])[]
const RECEIPT_WORDS = 5

/**
 * If the batch reads a window several times, the first reading stays in front and counts. The arithmetic leaves out
 * windows that have ended.
 */
function addWindows(counter: Counter, { limits, isWide }: Shape, reply: Buffer, at: number): void {
  const windows = limits.length
  for (let i = 0; i < windows; i++) {
    counter.push({
      seconds: (limits[i] as Limit).window.seconds,
      startedAt: startAt(reply, at, i, isWide),
      used: usedAt(reply, at, windows, i, isWide),
    })
  }
}
