import { z } from 'zod'
import type { InTurn } from '../lib/serialize.ts'
import type { HistoryScope, OwnerHistory } from '../quota/history-store.ts'
import type { Window } from '../quota/window.ts'
import { readUsageQuery } from '../usage/usage-query.ts'
import type { Desk } from './desk.ts'
import { type FieldProblem, iso } from './http.ts'

/** What those of a page used lately, in equal steps: one read of the store for each of them, so that a page of it is short. */

export const RECENT = ['24h', '7d'] as const
export type RecentRange = (typeof RECENT)[number]

const HOUR_MS = 3_600_000
const STEPS = { '24h': { count: 24, ms: HOUR_MS }, '7d': { count: 7, ms: 24 * HOUR_MS } } as const

/** Those of one page, at most. */
export const MOST_RECENT = 50

/** The parameter of both lists. */
export const recentField = z
  .enum(RECENT, { error: 'must be 24h or 7d; leave it out for windows as they stand' })
  .optional()
  .meta({ description: `What each used in this time, in 24 or 7 steps; of at most ${MOST_RECENT} on a page` })

export interface RecentUse {
  /** Together. */
  readonly tokens: number
  /** The oldest first. A run of the window counts where it begins. */
  readonly steps: readonly number[]
}

export interface Recent {
  /** In the order of the ids. */
  readonly uses: readonly RecentUse[]
  readonly range: { readonly from: string; readonly to: string; readonly window: string; readonly complete: boolean }
}

/** @returns what is wrong with the page, if it is too long for it */
export function tooLongFor(recent: RecentRange | undefined, limit: number): FieldProblem | null {
  if (recent === undefined || limit <= MOST_RECENT) return null
  return { path: 'limit', msg: `must be at most ${MOST_RECENT} with recent` }
}

/** @param at the store's time, in milliseconds since the epoch @throws StoreError */
export async function readRecent(
  { store, setup }: Pick<Desk, 'store' | 'setup'>,
  ids: readonly string[],
  {
    scope,
    recent,
    at,
    inTurn,
  }: {
    readonly scope: HistoryScope
    readonly recent: RecentRange
    readonly at: number
    readonly inTurn: InTurn
  },
): Promise<Recent> {
  const { quota, kept } = setup()
  const read = readUsageQuery({ from: recent }, { at, windows: quota.windows, kept })
  if ('problems' in read || read.query.window === null) throw new Error('a range without a window')
  const { from, to, window, isComplete } = read.query
  const found = await inTurn(() => Promise.all(ids.map((id) => store.readHistory(scope, id))))
  return {
    uses: found.map(({ history }) => usedIn(history, window, { from, to, recent })),
    range: { from: iso(from), to: iso(to), window: window.name, complete: isComplete },
  }
}

function usedIn(
  history: OwnerHistory,
  window: Window,
  { from, to, recent }: { readonly from: number; readonly to: number; readonly recent: RecentRange },
): RecentUse {
  const { count, ms } = STEPS[recent]
  const steps = new Array<number>(count).fill(0)
  let tokens = 0
  history.eachRun(
    from,
    to,
    (_category, seconds, startedAt, used) => {
      if (seconds !== window.seconds || startedAt < from || startedAt >= to) return
      const i = Math.min(count - 1, Math.floor((startedAt - from) / ms))
      steps[i] = (steps[i] ?? 0) + used
      tokens += used
    },
    window.seconds,
  )
  return { tokens, steps }
}
