import { z } from 'zod'
import { limit, once, only, organisationOnce, shortText } from './fields.ts'
import type { FullnessRules } from './fullness.ts'
import type { FieldProblem } from './http.ts'
import { recentField, tooLongFor } from './recent-use.ts'
import { type Mark, ORDERS, type RosterPage, type RosterWish } from './roster.ts'
import type { View } from './state.ts'

/** The queries of the lists of users and of organisations. */

/** The parameters that both lists have. */
export function pageQuery(who: 'user' | 'organisation') {
  return z.strictObject({
    query: shortText(256)
      .default('')
      .describe(`A part of the ${who} id, whatever its letter case; the ${who} whose id it is comes first`),
    order: z
      .enum(ORDERS, {
        error: `must be one of ${ORDERS.filter((name) => !name.startsWith('-')).join(', ')}, or - before one of them`,
      })
      .optional()
      .describe(
        `The order of the list. It adds \`total\` and \`counts\`. With \`use\`, those nearest to one of their limits come first. With \`tokens\`, those with the most tokens in the longest window of each category. With \`refused\`, those with the most refusals in 24 hours. With \`full\`, those whose window is full or will be full soonest. With \`reset\`, those whose window ends soonest. A \`-\` before the word reverses the order`,
      ),
    near: only('Only users who have used 80 % or more of one of their limits. It needs an order'),
    refused: only('Only users to whom the quota refused a request in the last 24 hours. It needs an order'),
    blocked: only(
      'Only users whom the quota refuses now, so that even the cheapest request of some category would get a 429',
    ),
    override: only('Only those that have an override'),
    plan: shortText(512).optional().describe('Only users who have the limits of this plan, one of `quota.plans`'),
    recent: recentField,
    limit: limit(200, 50),
    cursor: once
      .optional()
      .describe('The `next` of the page before. With an order it is the number of entries before the page'),
  })
}

export const OrganisationsQuery = pageQuery('organisation')
export const UsersQuery = pageQuery('user').extend({
  organisation: organisationOnce.optional().describe('Only users whose last credential named this organisation'),
  shadow: only('Only users whom their override puts in shadow, so that nothing is refused to them'),
  exempt: only('Only users who are never charged because of quota.exempt. It needs an order'),
})
export type UsersQuery = z.infer<typeof UsersQuery>

export const CURSOR: FieldProblem = { path: 'cursor', msg: 'must be the `next` of a page: leave it out to begin' }

type Plans = Pick<View['policy'], 'plans'>

/** A problem that the schema of the query cannot find: a page that is too long, or a plan that the configuration lacks. `null` for none. */
export function pageProblem(
  { recent, limit, plan }: Pick<UsersQuery, 'recent' | 'limit' | 'plan'>,
  { plans }: Plans,
): FieldProblem | null {
  const tooLong = tooLongFor(recent, limit)
  if (tooLong !== null || plan === undefined || plans.includes(plan)) return tooLong
  if (plans.length === 0) {
    return { path: 'plan', msg: 'is for a configuration with quota.plans: leave it out' }
  }
  const more = plans.length > 20 ? `, … (${plans.length} plans)` : ''
  return { path: 'plan', msg: `must be one of ${plans.slice(0, 20).join(', ')}${more}` }
}

/** The question to a roster. The caller adds the order, because each list has another default. */
export function rosterWish(
  query: z.infer<typeof OrganisationsQuery> & Pick<RosterWish, 'shadow' | 'exempt' | 'organisation'>,
  policy: Plans,
): Omit<RosterWish, 'order'> | { readonly problems: readonly FieldProblem[] } {
  const { cursor = '0', order: _, recent: __, ...wish } = query
  const problem = /^\d{1,7}$/.test(cursor) ? pageProblem(query, policy) : CURSOR
  return problem === null ? { ...wish, offset: Number(cursor) } : { problems: [problem] }
}

/** The fields of a sorted list beside its entries: how many there are, and the cursor of the next page. */
export function shownOf(
  { total, counts }: RosterPage,
  complete: boolean,
  { offset, limit }: Pick<RosterWish, 'offset' | 'limit'>,
): { total: number; counts: Readonly<Record<Mark | 'all', number>>; complete: boolean; next: string | null } {
  return { total, counts, complete, next: offset + limit < total ? String(offset + limit) : null }
}

export function rulesOf({ policy, setup }: View, at: number): FullnessRules {
  return { categories: policy.categories, cheapest: setup.cheapest, at }
}
