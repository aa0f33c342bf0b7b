import type { CountsResponse, NowResponse } from '../../admin/api.ts'

/** A second, between two looks. */
export interface Rates {
  /** Of the later look, in milliseconds since the epoch. */
  readonly at: number
  readonly requests: number
  readonly refused: number
  readonly shadowed: number
  readonly tokens: number
  readonly failed: number
}

/**
 * What happened between two looks, a second. Replica by replica, because the counts of one that has ended leave the sums:
 * one that is new counts from its start, one that is gone not at all.
 */
export function ratesBetween(before: NowResponse, after: NowResponse): Rates | null {
  const at = Date.parse(after.at)
  const seconds = (at - Date.parse(before.at)) / 1000
  if (!(seconds > 0)) return null
  if (before.replicas === null || after.replicas === null) return null
  const [now, known] = [after.replicas, new Map(before.replicas.map((replica) => [replica.instance, replica.counts]))]
  const sum = (field: keyof CountsResponse): number => {
    const grown = now.map(({ instance, startedAt, counts }) => {
      const old = known.get(instance)?.[field] ?? (startedAt >= before.at ? 0 : counts[field])
      return Math.max(0, counts[field] - old)
    })
    return grown.reduce((a, b) => a + b, 0) / seconds
  }
  return {
    at,
    requests: sum('requests'),
    refused: sum('refused'),
    shadowed: sum('shadowed'),
    tokens: sum('tokens'),
    failed: sum('failed'),
  }
}

/** Looks that are kept, and over how many of them a rate is taken: replicas report their counts in beats. */
export const KEPT = 90
const SPAN = 3

/** @param looks oldest first */
export function rateHistory(looks: readonly NowResponse[]): Rates[] {
  return looks.slice(SPAN).flatMap((after, i) => {
    const before = looks[i]
    const rates = before === undefined ? null : ratesBetween(before, after)
    return rates === null ? [] : [rates]
  })
}

/** A replica that is gone. */
export interface Left {
  readonly instance: string
  readonly host: string
  readonly pid: number
  /** When it was missed, in milliseconds since the epoch. */
  readonly at: number
  /** Requests that it had counted: the sums no longer have them. */
  readonly requests: number
}

/** The replicas that were there at the first look, and are not at the second. */
export function leftBetween(before: NowResponse, after: NowResponse): Left[] {
  if (before.replicas === null || after.replicas === null) return []
  const here = new Set(after.replicas.map(({ instance }) => instance))
  const at = Date.parse(after.at)
  return before.replicas
    .filter(({ instance }) => !here.has(instance))
    .map(({ instance, host, pid, counts }) => ({ instance, host, pid, at, requests: counts.requests }))
}
