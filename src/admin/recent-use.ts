import { z } from 'zod'
import type { UsersResponse } from '../contract/api.ts'
import type { InTurn } from '../lib/serialize.ts'
import { type Calendar, periodOf } from '../quota/calendar.ts'
import type { HistoryScope } from '../quota/history-store.ts'
import { dayBefore, readUsageQuery, type UsageStep } from '../usage/usage-query.ts'
import { type Found, rowsOfRuns, type UsageRow } from '../usage/usage-rows.ts'
import { shownWindow } from '../usage/usage-text.ts'
import type { Desk } from './desk.ts'
import { type FieldProblem, iso } from './http.ts'

/** What the owners on a page used recently, in hours or days. Each owner needs a read of the store, so such a page is short. */

export const RECENT = ['24h', '7d'] as const
export type RecentRange = (typeof RECENT)[number]

const HOUR_MS = 3_600_000

/** The most owners on one page. */
export const MOST_RECENT = 50

/** The parameter `recent` of the lists of users and of organisations. */
export const recentField = z
  .enum(RECENT, { error: 'must be 24h or 7d; leave it out for windows as they stand' })
  .optional()
  .describe(
    `Adds what each user or organisation used in this time, in 24 or 7 steps, for at most ${MOST_RECENT} on a page`,
  )

type RecentUse = NonNullable<UsersResponse['users'][number]['recent']>

export interface Recent {
  /** In the order of the ids. */
  readonly uses: readonly RecentUse[]
  readonly range: NonNullable<UsersResponse['recent']>
}

/** The problem of a page that is too long for recent usage; `null` for none. */
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
  const rules = setup().usage
  const { since } = await store.readCounted()
  const first = recent === '24h' ? recent : iso(dayBefore(at + 1, DAYS - 1, rules))
  const read = readUsageQuery({ by: KINDS[scope], from: first }, { ...rules, at, since })
  if ('problems' in read || read.query.window === null) throw new Error('a range without a window')
  const { query } = read
  const step: UsageStep = recent === '24h' ? 'run' : '1d'
  const found: Found = { reachesOver: false }
  const starts = recent === '24h' ? hoursFrom(query.from) : daysFrom(query.from, query.days)
  const histories = await inTurn(() => Promise.all(ids.map((id) => store.readHistory(scope, id))))
  const uses = histories.map(({ history }) => usedIn(rowsOfRuns(history, { ...query, step }, at, found), starts))
  const complete = query.gaps.length === 0 && !found.reachesOver
  return { uses, range: { from: iso(query.from), to: iso(query.to), window: shownWindow(query) ?? '', complete } }
}

const DAYS = 7
const HOURS = 24
const KINDS = { personal: 'user', organisation: 'organisation' } as const

function hoursFrom(from: number): number[] {
  return Array.from({ length: HOURS }, (_, i) => from + i * HOUR_MS)
}

function daysFrom(from: number, days: Calendar): number[] {
  const starts = [from]
  while (starts.length < DAYS) starts.push(periodOf(days, starts.at(-1) ?? 0).to)
  return starts
}

/** The tokens of all rows, and of those in each step. @param starts of the steps, the earliest first */
function usedIn(rows: readonly UsageRow[], starts: readonly number[]): RecentUse {
  const steps = new Array<number>(starts.length).fill(0)
  let tokens = 0
  for (const row of rows) {
    const i = Math.max(
      0,
      starts.findLastIndex((start) => start <= row.place),
    )
    steps[i] = (steps[i] ?? 0) + row.tokens
    tokens += row.tokens
  }
  return { tokens, steps }
}
