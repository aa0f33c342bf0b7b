/** A sequence of pseudo-random numbers that one seed determines (mulberry32). */
export interface Random {
  /** From 0 up to 1. */
  next(): number
  chance(probability: number): boolean
  /** A number between two others. */
  between(low: number, high: number): number
  /** A whole number between two others, both included. */
  integer(low: number, high: number): number
  pick<T>(list: readonly T[]): T
  /** One of the names, each as often as its weight says. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T
}

export function createRandom(seed: number): Random {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  const between = (low: number, high: number): number => low + next() * (high - low)
  const integer = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))

  function weighted<T extends string>(weights: Readonly<Record<T, number>>): T {
    const entries = Object.entries(weights) as [T, number][]
    let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      left -= weight
      if (left < 0) return name
    }
    throw new Error('no weight is above 0')
  }

  return {
    next,
    between,
    integer,
    weighted,
    chance: (probability) => next() < probability,
    pick: (list) => list[integer(0, list.length - 1)] as (typeof list)[number],
  }
}
