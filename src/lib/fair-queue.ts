/**
 * A queue of several parties. Each party has one turn in each round, however many of its items wait, and its items keep their order of
 * arrival. When the queue is full, a party with fewer items takes the place of an item of the party that has most.
 */
export class FairQueue<T> {
  readonly #max: number
  /** The parties in the order of their turns. None is empty. */
  readonly #parties = new Map<string, T[]>()
  #size = 0

  /** @param max the most items that wait, 1 or more */
  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#size
  }

  /** @returns the item that finds no room: this one, or the last item of the party that has most. `null` if there was room */
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
