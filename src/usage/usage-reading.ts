import { inSlices } from '../lib/slices.ts'
import { periodOf } from '../quota/calendar.ts'
import type { HistoryScope, HistoryStore } from '../quota/history-store.ts'
import type { MembershipStore } from '../quota/memberships.ts'
import { NO_TERMS, type TermsOf } from './beyond.ts'
import type { UsagePlace } from './usage-cursor.ts'
import type { UsageLogStore } from './usage-log-store.ts'
import { allOfRuns, type OwnerSteps, pageOfRuns, pageOfSeries, topOfRuns, type UsagePage } from './usage-pages.ts'
import type { UsageQuery } from './usage-query.ts'
import { type Found, rowsOfSeries, type UsageRow } from './usage-rows.ts'

/** Reads the rows of a question from the store. */

export type UsageSource = Pick<HistoryStore, 'readHistory' | 'scanHistory'> &
  Pick<UsageLogStore, 'readSeries'> &
  Pick<MembershipStore, 'readMemberships'> & {
    /** What is needed to read the runs of each owner. Default unknown. */
    readonly termsOf?: TermsOf | undefined
  }

/** How many owners one page looks at. If it finds nothing by then it is empty, with a cursor. */
const LOOKED_AT = 200_000
/** How many owners one page looks at to find the rows with the most tokens. */
const RANKED_AT = 1_000_000

export interface PageWish {
  readonly query: UsageQuery
  readonly from: UsagePlace
  /** The most rows. */
  readonly limit: number
  readonly signal: AbortSignal
}

/** One page. @throws StoreError, or the reason of the signal */
export async function readUsagePage(store: UsageSource, { query, from, limit, signal }: PageWish): Promise<UsagePage> {
  const { by, isRanked } = query
  if (by !== 'user' && by !== 'organisation') return pageOfSeries(await seriesRows(store, query), query, from, limit)
  const read = isRanked ? topOfRuns : pageOfRuns
  const most = isRanked ? RANKED_AT : LOOKED_AT
  return read({ query, steps: stepsOf(store, by, query), from, limit, most, signal })
}

/**
 * All rows in parts, or at most `limit` if the most tokens are wanted.
 * @param found says at the end whether a run reaches over an end of the range @throws as `readUsagePage`
 */
export async function* readUsage(
  store: UsageSource,
  { query, limit, signal }: Omit<PageWish, 'from'>,
  found: Found = { reachesOver: false },
): AsyncGenerator<readonly UsageRow[]> {
  const { by, isRanked } = query
  if (by !== 'user' && by !== 'organisation') {
    const rows = await seriesRows(store, query)
    yield* inBatches(isRanked ? pageOfSeries(rows, query, { step: null, after: null }, limit).rows : rows)
    return
  }
  const steps = stepsOf(store, by, query)
  if (!isRanked) return yield* allOfRuns(query, steps, signal, found)
  const { rows, reachesOver } = await topOfRuns({ query, steps, limit, most: Number.POSITIVE_INFINITY, signal })
  found.reachesOver = reachesOver
  yield* inBatches(rows)
}

const BATCH = 500

async function* inBatches(rows: readonly UsageRow[]): AsyncGenerator<readonly UsageRow[]> {
  const slices = inSlices()
  for (let i = 0; i < rows.length; i += BATCH) {
    yield rows.slice(i, i + BATCH)
    if (slices.isOver()) await slices.next()
  }
}

async function seriesRows(store: UsageSource, query: UsageQuery): Promise<readonly UsageRow[]> {
  const { by, to, name, days, byDays } = query
  if (by === 'user' || by === 'organisation') return []
  // The range may begin within its first day, at the first moment that the books know.
  const from = byDays ? periodOf(days, query.from).from : query.from
  const asked = { by, from, to, name: name ?? undefined, days: byDays ? days : undefined }
  const { at, rows } = await store.readSeries(asked)
  return rowsOfSeries(rows, query, at)
}

function stepsOf(store: UsageSource, by: 'user' | 'organisation', { name, organisation }: UsageQuery): OwnerSteps {
  const scope = by === 'user' ? 'personal' : 'organisation'
  const all: OwnerSteps =
    name === null
      ? (cursor) => store.scanHistory(scope, cursor)
      : async () => {
          const { at, history } = await store.readHistory(scope, name)
          return { at, owners: [history], next: null }
        }
  const wanted = organisation === null ? all : membersOnly(store, all, organisation)
  return store.termsOf === undefined ? wanted : withTerms(store.termsOf, scope, wanted)
}

/** Leaves in each step only the users whose credential last named the organisation. */
function membersOnly(store: UsageSource, steps: OwnerSteps, organisation: string): OwnerSteps {
  return async (cursor) => {
    const step = await steps(cursor)
    const memberships = await store.readMemberships(step.owners.map(({ id }) => id))
    return { ...step, owners: step.owners.filter((_owner, i) => memberships[i]?.organisation === organisation) }
  }
}

function withTerms(termsOf: TermsOf, scope: HistoryScope, steps: OwnerSteps): OwnerSteps {
  return async (cursor) => {
    const step = await steps(cursor)
    const ids = step.owners.map(({ id }) => id)
    const terms = await termsOf(scope, ids)
    return { ...step, terms: new Map(ids.map((id, i) => [id, terms[i] ?? NO_TERMS])) }
  }
}
