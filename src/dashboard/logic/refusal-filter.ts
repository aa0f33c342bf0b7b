import type { RefusalGroupsResponse, Scope } from '../../contract/api.ts'
import { type Fields, queryOf } from './location.ts'
import { isDay, type Range, type Step } from './range.ts'
import { SCOPES } from './scope.ts'

/** Which refusals are searched for, from the address. Pure. */

export type Grouping = RefusalGroupsResponse['by']
export const GROUPINGS = ['user', 'limit', 'route', 'organisation'] as const satisfies readonly Grouping[]

export interface RefusalWish {
  /** A part of the id of a user or of an organisation. */
  readonly query: string
  readonly user: string
  readonly organisation: string
  readonly scope: Scope | ''
  readonly category: string
  readonly route: string
  /** Whether to show what shadow mode let pass instead of real refusals. */
  readonly shadow: boolean
  /** How they are grouped. */
  readonly by: Grouping
  /** The moment in question, in ISO 8601. */
  readonly at: string | null
  readonly cursor: string
}

export function refusalWishOf(fields: Fields): RefusalWish {
  const { query = '', user = '', organisation = '', category = '', route = '', cursor = '', at = '' } = fields
  return {
    ...{ query, user, organisation, category, route, cursor },
    scope: SCOPES.find((each) => each === fields.scope) ?? '',
    shadow: fields.shadow === 'true',
    by: GROUPINGS.find((each) => each === fields.by) ?? 'user',
    at: !isDay(at) && !Number.isNaN(Date.parse(at)) ? at : null,
  }
}

export const FILTERS = ['query', 'user', 'organisation', 'scope', 'category', 'route'] as const

export function isFiltered(wish: RefusalWish): boolean {
  return FILTERS.some((name) => wish[name].trim() !== '')
}

/** The part of both questions to the API that selects refusals. */
function filterQuery(wish: RefusalWish, { from, to }: Range): Record<string, string> {
  const { query, user, organisation, scope, category, route, shadow } = wish
  return {
    part: query,
    ...{ user: user.trim(), organisation: organisation.trim(), scope, category, route },
    shadow: shadow ? 'true' : '',
    since: from,
    until: to ?? '',
  }
}

/** For GET /api/refusals, which lists single ones. @param limit of a page; `csv` for a file of all */
export function refusalQuery(wish: RefusalWish, range: Range, limit: number | 'csv'): string {
  const page = limit === 'csv' ? { format: 'csv' } : { cursor: wish.cursor, limit: String(limit) }
  return queryOf({ ...filterQuery(wish, range), ...page })
}

/** For GET /api/refusals/groups, which counts them. */
export function groupQuery(wish: RefusalWish, range: Range, step: Step): string {
  return queryOf({ ...filterQuery(wish, range), by: wish.by, step, limit: '100' })
}
