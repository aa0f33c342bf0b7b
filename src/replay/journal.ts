import type { NamedDays } from '../quota/payer.ts'
import { type Entry, type EntryMeter, type EntryTarget, FATES, type TunnelEntry } from './entry.ts'
import { orderOf } from './order.ts'

/** All requests of the logs, in the order of arrival. Each has a row in columns: a million of them take 75 MB, beside their texts. */
export interface Journal {
  readonly size: number
  /** Visits all requests in order. @param onSettled hears of each ended response before the first later request. Default nobody */
  forEach(onEntry: (entry: Entry, position: number) => void, onSettled?: (position: number) => void): void
}

const NONE = -1
/** The bits below the fate. */
const OF_RULE = 1
const FAILED = 2
/** The fate lies below the day of the user, and that below the day of the organisation. 0 is no day. */
const OWN_DAY = 64
const DAYS = 32

/** Each row has: begin and end in milliseconds, cost, charged. */
const NUMBERS = 4
/** Each row has: method, target, user, address, plan, organisation. */
const TEXTS = 6
/** The rows of one block. Growth copies nothing. */
const BLOCK = 1 << 13

interface Block {
  readonly numbers: Float64Array
  readonly texts: (string | null)[]
  /** The fate, whether the response failed, whether the target is a rule, and the days on which months begin. */
  readonly flags: Uint16Array
}

/**
 * Takes requests in the order of the logs: by their ends, and one file after the other. It keeps the given texts of each request, so
 * equal ones should be the same string.
 */
export class JournalBuilder {
  #size = 0
  readonly #blocks: Block[] = []
  /** The tunnels by position: few entries are of WebSockets. */
  readonly #tunnels = new Map<number, TunnelEntry>()
  /** The meters by position: few routes have several. */
  readonly #meters = new Map<number, readonly EntryMeter[]>()

  add(entry: Entry): void {
    const { target, days, fate, failed, tunnel, meters } = entry
    const row = this.#size % BLOCK
    if (row === 0) this.#blocks.push(newBlock())
    const { numbers, texts, flags } = this.#blocks[this.#blocks.length - 1] as Block
    const number = row * NUMBERS
    numbers[number] = entry.at
    numbers[number + 1] = entry.endedAt
    numbers[number + 2] = entry.cost ?? NONE
    numbers[number + 3] = entry.charged ?? NONE
    const text = row * TEXTS
    texts[text] = entry.method
    texts[text + 1] = target.text
    texts[text + 2] = entry.user
    texts[text + 3] = entry.address
    texts[text + 4] = entry.plan
    texts[text + 5] = entry.organisation
    const bits = FATES.indexOf(fate) * 4 + (failed === true ? FAILED : 0) + (target.kind === 'rule' ? OF_RULE : 0)
    flags[row] = days === undefined ? bits : bits + packedDays(days)
    if (tunnel !== undefined) this.#tunnels.set(this.#size, tunnel)
    if (meters !== undefined) this.#meters.set(this.#size, meters)
    this.#size++
  }

  finish(): Journal {
    const [starts, ends] = [this.#moments(0), this.#moments(1)]
    const order = { starts, ends, byStart: orderOf(starts), byEnd: orderOf(ends) }
    return { size: this.#size, forEach: (onEntry, onSettled = () => {}) => this.#replay(order, onEntry, onSettled) }
  }

  #replay(
    { starts, ends, byStart, byEnd }: Order,
    onEntry: (entry: Entry, position: number) => void,
    onSettled: (position: number) => void,
  ): void {
    let ended = 0
    for (const position of byStart) {
      const at = starts[position] as number
      for (; ended < byEnd.length; ended++) {
        const done = byEnd[ended] as number
        if ((ends[done] as number) > at || !isBefore(starts, done, position)) break
        onSettled(done)
      }
      onEntry(this.#entryAt(position), position)
    }
    for (; ended < byEnd.length; ended++) onSettled(byEnd[ended] as number)
  }

  #entryAt(position: number): Entry {
    const { numbers, texts, flags } = this.#blocks[Math.floor(position / BLOCK)] as Block
    const number = (position % BLOCK) * NUMBERS
    const text = (position % BLOCK) * TEXTS
    const flag = flags[position % BLOCK] as number
    const tunnel = this.#tunnels.get(position)
    const meters = this.#meters.get(position)
    const target: EntryTarget = { kind: (flag & OF_RULE) !== 0 ? 'rule' : 'path', text: texts[text + 1] ?? '' }
    return {
      at: numbers[number] as number,
      endedAt: numbers[number + 1] as number,
      cost: tokensOf(numbers[number + 2] as number),
      charged: tokensOf(numbers[number + 3] as number),
      method: texts[text] ?? '',
      target,
      user: texts[text + 2] ?? null,
      address: texts[text + 3] ?? null,
      plan: texts[text + 4] ?? null,
      organisation: texts[text + 5] ?? null,
      ...(flag >= OWN_DAY && { days: daysIn(flag) }),
      fate: FATES[(flag % OWN_DAY) >> 2] as Entry['fate'],
      ...((flag & FAILED) !== 0 && { failed: true as const }),
      ...(tunnel !== undefined && { tunnel }),
      ...(meters !== undefined && { meters }),
    }
  }

  #moments(column: 0 | 1): Float64Array {
    const moments = new Float64Array(this.#size)
    for (let i = 0; i < moments.length; i++) {
      const { numbers } = this.#blocks[Math.floor(i / BLOCK)] as Block
      moments[i] = numbers[(i % BLOCK) * NUMBERS + column] as number
    }
    return moments
  }
}

/** Moments by position, and positions by moment. */
interface Order {
  readonly starts: Float64Array
  readonly ends: Float64Array
  readonly byStart: Uint32Array
  readonly byEnd: Uint32Array
}

function newBlock(): Block {
  return {
    numbers: new Float64Array(BLOCK * NUMBERS),
    texts: new Array<string | null>(BLOCK * TEXTS).fill(null),
    flags: new Uint16Array(BLOCK),
  }
}

function packedDays({ periodDay = 0, organisationDay = periodDay }: NamedDays): number {
  return OWN_DAY * (periodDay + DAYS * (organisationDay ?? 0))
}

function daysIn(flag: number): NamedDays {
  const own = Math.floor(flag / OWN_DAY) % DAYS
  const theirs = Math.floor(flag / (OWN_DAY * DAYS))
  return {
    ...(own > 0 && { periodDay: own }),
    ...(theirs !== own && { organisationDay: theirs === 0 ? null : theirs }),
  }
}

function isBefore(starts: Float64Array, a: number, b: number): boolean {
  const apart = (starts[a] as number) - (starts[b] as number)
  return apart < 0 || (apart === 0 && a < b)
}

function tokensOf(number: number): number | null {
  return number === NONE ? null : number
}
