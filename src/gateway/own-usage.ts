import type { Caller } from '../auth/authenticator.ts'
import { grantOfThese } from '../control/grants.ts'
import type { StoredControl } from '../control/state.ts'
import { type Denial, denial } from '../errors.ts'
import type { HistoryScope, HistoryStore } from '../quota/history-store.ts'
import type { Policy } from '../quota/policy.ts'
import { type GrantStatus, grantStatus } from '../quota/status.ts'
import { JSON_TYPE, type OwnResponse } from '../respond/response.ts'
import { type OwnerTerms, termsOf } from '../usage/beyond.ts'
import { readPagedQuery } from '../usage/usage-cursor.ts'
import { pageOfOwner, type UsagePage } from '../usage/usage-pages.ts'
import type { UsageFields, UsageProblem, UsageQuery, UsageRules } from '../usage/usage-query.ts'
import { rowsOfGrants, type UsageRow } from '../usage/usage-rows.ts'
import { shownPage } from '../usage/usage-text.ts'

/** A caller's question about his own usage. */
export interface OwnUsageQuestion {
  readonly caller: Caller
  /** The query of the request without credentials. */
  readonly parameters: URLSearchParams
  readonly policy: Policy
  readonly rules: UsageRules
}

/** Responds to `GET /me/usage`. @throws StoreError */
export type OwnUsage = (question: OwnUsageQuestion) => Promise<OwnResponse | Denial>

const FIELDS = ['from', 'to', 'by', 'category', 'window', 'step', 'limit', 'cursor'] as const
const MOST_ROWS = 1000
const USUAL_ROWS = 100

/** @param grants all grants, even those that have ended */
export function createOwnUsage(
  store: Pick<HistoryStore, 'readHistory'>,
  grants: () => StoredControl['grants'],
): OwnUsage {
  return async function ownUsage({ caller, parameters, policy, rules }) {
    const asked = readQuestion(parameters, caller, policy)
    if ('problems' in asked) return refusal(asked.problems)
    const { at, counted, history } = await store.readHistory(asked.scope, asked.id)
    const { since, keeping } = counted
    const { windows, books, zone, kept } = rules
    const read = readPagedQuery({ ...asked.fields, by: asked.by, [asked.by]: asked.id }, asked.cursor, {
      at,
      since,
      keeping,
      windows,
      books,
      zone,
      kept,
    })
    if ('problems' in read) return refusal(read.problems)
    const terms = termsOf(policy, caller, asked.scope, grantOfThese(grants()))
    const page = pageOfOwner(history, read.query, at, { from: read.from, limit: asked.limit, terms })
    const ofGrants = asked.cursor === undefined ? rowsOfGrants(history, read.query, at, terms) : []
    return responseOf(read.query, page, asked, takenOfGrants(ofGrants, terms, asked))
  }
}

type Problems = { readonly problems: readonly UsageProblem[] }

interface Asked extends Owner {
  /** The fields without the owner. */
  readonly fields: UsageFields
  readonly cursor: string | undefined
  readonly limit: number
}

function readQuestion(parameters: URLSearchParams, caller: Caller, policy: Policy): Asked | Problems {
  const given: Partial<Record<(typeof FIELDS)[number], string>> = {}
  for (const [name, value] of parameters) {
    const field = FIELDS.find((each) => each === name)
    if (field === undefined || given[field] !== undefined) {
      return { problems: [{ path: 'query', msg: `may have ${FIELDS.join(', ')}, each once` }] }
    }
    given[field] = value
  }
  const { limit = String(USUAL_ROWS), cursor, by = 'user', ...fields } = given
  const owner = ownerOf(by, caller, policy)
  if ('problems' in owner) return owner
  const rows = /^\d{1,4}$/.test(limit) ? Number(limit) : 0
  if (rows >= 1 && rows <= MOST_ROWS) return { ...owner, fields, cursor, limit: rows }
  return { problems: [{ path: 'limit', msg: `must be a whole number from 1 to ${MOST_ROWS}` }] }
}

interface Owner {
  readonly by: 'user' | 'organisation'
  readonly scope: HistoryScope
  readonly id: string
  /** The categories that the caller may see. */
  readonly categories: readonly string[]
}

/** Of an organisation a caller sees the categories that `GET /me/quota` shows for it, which are those with a limit of the organisation. */
function ownerOf(by: string, caller: Caller, policy: Policy): Owner | Problems {
  const { user, organisation } = caller
  const { categories } = policy
  if (by === 'user') return { by, scope: 'personal', id: user, categories }
  const limited = categories.filter((category) => (policy.limitsFor(category, caller).organisation ?? []).length > 0)
  if (by === 'organisation' && organisation !== null && limited.length > 0) {
    return { by, scope: 'organisation', id: organisation, categories: limited }
  }
  const cure = limited.length > 0 ? 'must be user or organisation' : 'must be user: no organisation of yours has limits'
  return { problems: [{ path: 'by', msg: cure }] }
}

function responseOf(query: UsageQuery, page: UsagePage, owner: Owner, grants: readonly GrantStatus[]): OwnResponse {
  const rows = page.rows.filter((row) => isSeen(row, owner))
  const shown = shownPage(query, { rows, next: page.next, reachesOver: page.reachesOver })
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify({ ...shown, ...(grants.length > 0 && { grants }) }) }
}

function isSeen({ category }: UsageRow, { categories }: Owner): boolean {
  return category === null || categories.includes(category)
}

/** The grants as `GET /me/quota` shows them, and also those that have ended. */
function takenOfGrants(rows: readonly UsageRow[], { grantOf }: OwnerTerms, owner: Owner): GrantStatus[] {
  return rows.flatMap((row) => {
    const given = row.grant === null ? null : grantOf(row.grant.id)
    if (row.grant === null || given === null || !isSeen(row, owner)) return []
    const { id, taken } = row.grant
    return [grantStatus(owner.scope, { id, ...given }, taken)]
  })
}

function refusal(problems: readonly UsageProblem[]): Denial {
  const msg = problems.map(({ path, msg }) => `${path}: ${msg}`).join('; ')
  return denial('bad_request', msg, { reason: 'usage_query' })
}
