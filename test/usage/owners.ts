import type { OwnerHistory } from '../../src/quota/history-store.ts'
import type { OwnerStep, OwnerSteps } from '../../src/usage/usage-pages.ts'

export interface Run {
  readonly category: string
  readonly seconds: number
  readonly startedAt: number
  readonly tokens: number
  readonly isCounted?: boolean
}

/** A history of these runs. @param taken of grants. Default nothing */
export function historyOf(
  id: string,
  runs: readonly Run[],
  taken: Readonly<Record<string, number>> = {},
): OwnerHistory {
  return {
    id,
    eachRun(from, to, visit) {
      for (const { category, seconds, startedAt, tokens, isCounted = false } of runs) {
        if (startedAt >= from && startedAt < to) visit(category, seconds, startedAt, tokens, isCounted)
      }
    },
    takenOf: () => new Map(Object.entries(taken)),
  }
}

/** A scan in steps of so many, of which each has its owners in another order whenever it is taken. */
export function stepsThrough(all: () => readonly OwnerHistory[], size: number, at: number): OwnerSteps {
  let taken = 0
  return (cursor): Promise<OwnerStep> => {
    const begin = cursor === null ? 0 : Number(cursor)
    const owners = all().slice(begin, begin + size)
    const next = begin + size < all().length ? String(begin + size) : null
    return Promise.resolve({ at, owners: taken++ % 2 === 0 ? owners : owners.toReversed(), next })
  }
}
