import type { Scope } from '../../contract/api.ts'
import type { Fields } from './location.ts'

/** What of the refusals is looked for, as the address has it. Pure. */

export const SINCE_MS = { '1h': 3_600_000, '1d': 86_400_000, '7d': 604_800_000 } as const
export type Since = keyof typeof SINCE_MS
const USUAL: Since = '7d'

export const SCOPES = ['Personal', 'Organisation', 'Global'] as const satisfies readonly Scope[]

export interface RefusalWish {
  readonly user: string
  readonly organisation: string
  readonly scope: Scope | ''
  readonly category: string
  readonly route: string
  /** What would have been refused in shadow, instead of what was. */
  readonly shadow: boolean
  readonly since: Since
  /** A range of time instead of `since`, in ISO 8601. */
  readonly range: { readonly from: string; readonly until: string } | null
  /** The moment that is asked about, in ISO 8601. */
  readonly at: string | null
  readonly cursor: string
}

export function refusalWishOf({
  user = '',
  organisation = '',
  scope,
  category = '',
  route = '',
  shadow,
  since,
  from,
  until,
  at,
  cursor = '',
}: Fields) {
  const wish: RefusalWish = {
    user,
    organisation,
    scope: SCOPES.find((each) => each === scope) ?? '',
    category,
    route,
    shadow: shadow === 'true',
    since: isSince(since) ? since : USUAL,
    range: isMoment(from) && isMoment(until) ? { from, until } : null,
    at: isMoment(at) ? at : null,
    cursor,
  }
  return wish
}

function isSince(text: string | undefined): text is Since {
  return text !== undefined && Object.hasOwn(SINCE_MS, text)
}

function isMoment(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) && !Number.isNaN(Date.parse(text))
}

export function isFiltered({ user, organisation, scope, category, route }: RefusalWish): boolean {
  return [user, organisation, scope, category, route].some((each) => each.trim() !== '')
}

/** To the minute, so that two looks in one minute ask the same. */
const STEP_MS = 60_000

/** The question to the API. @param now milliseconds since the epoch, when one began to look */
export function refusalQuery(wish: RefusalWish, now: number, limit: number): string {
  const { user, organisation, scope, category, route, shadow, since, range, cursor } = wish
  const begun = Math.floor((now - SINCE_MS[since]) / STEP_MS) * STEP_MS
  const time = range === null ? { since: new Date(begun).toISOString() } : { since: range.from, until: range.until }
  const parts = {
    user: user.trim(),
    organisation: organisation.trim(),
    scope,
    category,
    route,
    shadow: shadow ? 'true' : '',
    ...time,
    cursor,
    limit: String(limit),
  }
  return new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== '')).toString()
}
