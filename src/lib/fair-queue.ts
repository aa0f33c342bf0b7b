/**
 * What waits, of several parties. Each has a turn in each round, however many of it wait; within one the order is that of arrival. Where it is
 * full, a party that has fewer takes the place of the one that has most.
 */
export class FairQueue<T> {
  readonly #max: number
  /** In the order of their turns; none is empty. */
  readonly #parties = new Map<string, T[]>()
  #size = 0

  /** @param max most that wait, 1 or more */
  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#size
  }

  /** @returns what does not wait, for want of room: this one, or the last of the party that has most. `null` if there was room */
  push(party: string, item: T): T | null {
    const own = this.#parties.get(party)
    let dropped: T | null = null
    if (this.#size >= this.#max) {
      const [name, longest] = this.#longest()
      const last = longest.at(-1)
      if (last === undefined || (own?.length ?? 0) + 1 >= longest.length) return item
      this.remove(name, last)
      dropped = last
    }
    if (own === undefined) this.#parties.set(party, [item])
    else own.push(item)
    this.#size++
    return dropped
  }

  /** The next one; `undefined` if none waits. */
  shift(): T | undefined {
    const [next] = this.#parties
    if (next === undefined) return undefined
    const [party, items] = next
    const item = items.shift()
    this.#size--
    this.#parties.delete(party)
    if (items.length > 0) this.#parties.set(party, items)
    return item
  }

  remove(party: string, item: T): void {
    const items = this.#parties.get(party)
    const at = items?.lastIndexOf(item) ?? -1
    if (items === undefined || at < 0) return
    items.splice(at, 1)
    this.#size--
    if (items.length === 0) this.#parties.delete(party)
  }

  #longest(): readonly [string, readonly T[]] {
    let longest: readonly [string, readonly T[]] = ['', []]
    for (const party of this.#parties) if (party[1].length > longest[1].length) longest = party
    return longest
  }
}
