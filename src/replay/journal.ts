import type { Entry, EntryTarget } from './entry.ts'

/**
 * All requests of the logs, in the order in which they came. A million of them take 60 MB: numbers lie in columns, and each text is kept once.
 */
export interface Journal {
  readonly size: number
  /** In order. @param onSettled hears of each request whose response has ended, before the first that came later */
  forEach(onEntry: (entry: Entry, position: number) => void, onSettled: (position: number) => void): void
}

const FATES: readonly Entry['fate'][] = ['passed', 'unreached', 'repeated', 'exempt', 'refused']
const NONE = -1

/** Takes requests as the logs have them: by their ends, and one file behind the other. */
export class JournalBuilder {
  #size = 0
  #numbers = new Float64Array(4 * 1024)
  #ids = new Int32Array(7 * 1024)
  readonly #texts = new Texts()

  add({ at, endedAt, cost, charged, method, target, user, address, plan, organisation, fate }: Entry): void {
    if (this.#size * 4 === this.#numbers.length) this.#grow()
    this.#numbers.set([at, endedAt, cost ?? NONE, charged ?? NONE], this.#size * 4)
    const texts = this.#texts
    const isRule = target.kind === 'rule' ? 1 : 0
    const known = [method, target.text, user, address, plan, organisation].map((text) => texts.idOf(text))
    this.#ids.set(known, this.#size * 7)
    this.#ids[this.#size * 7 + 6] = FATES.indexOf(fate) * 2 + isRule
    this.#size++
  }

  finish(): Journal {
    const byStart = this.#order(0)
    const byEnd = this.#order(1)
    return { size: this.#size, forEach: (onEntry, onSettled) => this.#replay(byStart, byEnd, onEntry, onSettled) }
  }

  #replay(
    byStart: readonly number[],
    byEnd: readonly number[],
    onEntry: (entry: Entry, position: number) => void,
    onSettled: (position: number) => void,
  ): void {
    const numbers = this.#numbers
    let ended = 0
    for (const position of byStart) {
      const at = numbers[position * 4] as number
      for (; ended < byEnd.length; ended++) {
        const done = byEnd[ended] as number
        if ((numbers[done * 4 + 1] as number) > at || !this.#isBefore(done, position)) break
        onSettled(done)
      }
      onEntry(this.#entryAt(position), position)
    }
    for (; ended < byEnd.length; ended++) onSettled(byEnd[ended] as number)
  }

  #entryAt(position: number): Entry {
    const number = (i: number): number => this.#numbers[position * 4 + i] as number
    const text = (i: number): string | null => this.#texts.textOf(this.#ids[position * 7 + i] as number)
    const flags = this.#ids[position * 7 + 6] as number
    const target: EntryTarget = { kind: flags % 2 === 1 ? 'rule' : 'path', text: text(1) ?? '' }
    return {
      at: number(0),
      endedAt: number(1),
      cost: number(2) === NONE ? null : number(2),
      charged: number(3) === NONE ? null : number(3),
      method: text(0) ?? '',
      target,
      user: text(2),
      address: text(3),
      plan: text(4),
      organisation: text(5),
      fate: FATES[flags >> 1] as Entry['fate'],
    }
  }

  #isBefore(a: number, b: number): boolean {
    const apart = (this.#numbers[a * 4] as number) - (this.#numbers[b * 4] as number)
    return apart < 0 || (apart === 0 && a < b)
  }

  /** Positions by one of the moments; equal ones stay in the order of the logs. An array sorts what is nearly in order in one pass. */
  #order(column: 0 | 1): readonly number[] {
    const numbers = this.#numbers
    const order = Array.from({ length: this.#size }, (_, i) => i)
    return order.sort((a, b) => (numbers[a * 4 + column] as number) - (numbers[b * 4 + column] as number) || a - b)
  }

  #grow(): void {
    const [numbers, ids] = [this.#numbers, this.#ids]
    this.#numbers = new Float64Array(numbers.length * 2)
    this.#numbers.set(numbers)
    this.#ids = new Int32Array(ids.length * 2)
    this.#ids.set(ids)
  }
}

/** Each text once. A text that is kept is copied, or the piece of the file that it was cut from would be kept with it. */
class Texts {
  readonly #ids = new Map<string, number>()
  readonly #texts: string[] = []

  idOf(text: string | null): number {
    if (text === null) return NONE
    const known = this.#ids.get(text)
    if (known !== undefined) return known
    const copy = Buffer.from(text, 'utf16le').toString('utf16le')
    const id = this.#texts.push(copy) - 1
    this.#ids.set(copy, id)
    return id
  }

  textOf(id: number): string | null {
    return id === NONE ? null : (this.#texts[id] as string)
  }
}
