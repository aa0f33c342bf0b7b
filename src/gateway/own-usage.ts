import type { Caller } from '../auth/authenticator.ts'
import { type Denial, denial } from '../errors.ts'
import type { HistoryStore } from '../quota/history-store.ts'
import type { Policy } from '../quota/policy.ts'
import { JSON_TYPE, type OwnResponse } from '../respond/response.ts'
import { readPagedQuery, type UsagePlace } from '../usage/usage-cursor.ts'
import type { UsageContext, UsageFields, UsageProblem, UsageQuery, UsageRules } from '../usage/usage-query.ts'
import { readUsagePage, type UsageSource } from '../usage/usage-reading.ts'
import { shownPage } from '../usage/usage-text.ts'

/** What the caller asks of its own usage. */
export interface OwnUsageQuestion {
  readonly caller: Caller
  /** The query of the request, without credentials. */
  readonly parameters: URLSearchParams
  readonly policy: Policy
  readonly rules: UsageRules
}

/** Answers `GET /me/usage`. @throws StoreError */
export type OwnUsage = (question: OwnUsageQuestion) => Promise<OwnResponse | Denial>

const FIELDS = ['from', 'to', 'by', 'category', 'window', 'step', 'limit', 'cursor'] as const
const MOST_ROWS = 1000
const USUAL_ROWS = 100

export function createOwnUsage(store: OwnUsageSource): OwnUsage {
  return async function ownUsage(question) {
    const read = readQuestion(question, await store.readCounted())
    if ('problems' in read) return refusal(read.problems)
    return responseTo(store, read)
  }
}

type OwnUsageSource = UsageSource & Pick<HistoryStore, 'readCounted'>
type Counted = Pick<UsageContext, 'at' | 'since'>

type Problems = { readonly problems: readonly UsageProblem[] }

interface Read {
  readonly query: UsageQuery
  readonly from: UsagePlace
  readonly limit: number
  /** That the caller may see. */
  readonly categories: ReadonlySet<string>
}

function readQuestion({ caller, parameters, policy, rules }: OwnUsageQuestion, counted: Counted): Read | Problems {
  const names = [...parameters.keys()]
  if (names.some((name) => !FIELDS.some((field) => field === name)) || new Set(names).size < names.length) {
    return { problems: [{ path: 'query', msg: `may have ${FIELDS.join(', ')}, each once` }] }
  }
  const given: Partial<Record<(typeof FIELDS)[number], string>> = Object.fromEntries(parameters)
  const { limit = String(USUAL_ROWS), cursor, by = 'user', ...fields } = given
  const owner = ownerOf(by, caller, policy)
  if ('problems' in owner) return owner
  const read = readPagedQuery({ ...fields, ...owner.fields }, cursor, { ...counted, ...rules })
  if ('problems' in read) return read
  const rows = /^\d{1,4}$/.test(limit) ? Number(limit) : 0
  if (rows >= 1 && rows <= MOST_ROWS) return { ...read, limit: rows, categories: owner.categories }
  return { problems: [{ path: 'limit', msg: `must be a whole number from 1 to ${MOST_ROWS}` }] }
}

interface Owner {
  readonly fields: Pick<UsageFields, 'by' | 'user' | 'organisation'>
  readonly categories: ReadonlySet<string>
}

/** Of an organisation a caller sees what `GET /me/quota` shows of it: the categories that its plan limits. */
function ownerOf(by: string, caller: Caller, policy: Policy): Owner | Problems {
  const { user, organisation } = caller
  if (by === 'user') return { fields: { by, user }, categories: new Set(policy.categories) }
  const limited = policy.categories.filter(
    (category) => (policy.limitsFor(category, caller).organisation ?? []).length > 0,
  )
  if (by === 'organisation' && organisation !== null && limited.length > 0) {
    return { fields: { by, organisation }, categories: new Set(limited) }
  }
  const cure = limited.length > 0 ? 'must be user or organisation' : 'must be user: no organisation of yours has limits'
  return { problems: [{ path: 'by', msg: cure }] }
}

async function responseTo(store: UsageSource, { query, from, limit, categories }: Read): Promise<OwnResponse> {
  // A history is read in one step, so no wait for a client that has left is long.
  const { signal } = new AbortController()
  const page = await readUsagePage(store, { query, from, limit, signal })
  const shown = page.rows.filter(({ category }) => category === null || categories.has(category))
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify(shownPage(query, { ...page, rows: shown })) }
}

function refusal(problems: readonly UsageProblem[]): Denial {
  const msg = problems.map(({ path, msg }) => `${path}: ${msg}`).join('; ')
  return denial('bad_request', msg, { reason: 'usage_query' })
}
