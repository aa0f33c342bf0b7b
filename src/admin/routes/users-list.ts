import { z } from 'zod'
import type { UsersResponse } from '../../contract/api.ts'
import { isUserId, USER_ID } from '../../control/user-id.ts'
import { payerOf } from '../../quota/policy.ts'
import type { Used } from '../../quota/quota-store.ts'
import { type WindowStatuses, windowStatus } from '../../quota/status.ts'
import type { Desk } from '../desk.ts'
import { fullnessOf, fullnessShown } from '../fullness.ts'
import { type AdminResponse, badFields, ok } from '../http.ts'
import { ledByCaller, overrideOf } from '../override.ts'
import { membershipShown } from '../plan.ts'
import { readRecent } from '../recent-use.ts'
import { pageOf } from '../roster.ts'
import type { Rosters } from '../rosters.ts'
import type { CallOf } from '../route.ts'
import { Judge, type Judged } from '../standing.ts'
import type { View } from '../state.ts'
import { only } from '../used-filter.ts'
import { type Listed, pageQuery, readPage, rosterWish, rulesOf, shownOf, type UsedPage } from '../used-list.ts'

/** The query of the list. */
export const PageQuery = pageQuery('user').extend({
  organisation: z
    .string({ error: 'must be given once' })
    .refine(isUserId, { error: `must be an organisation: ${USER_ID}` })
    .optional()
    .describe('Only users whose last credential named this organisation'),
  shadow: only('Only users whom their override puts in shadow, so that nothing is refused to them'),
  exempt: only('Only users who are never charged because of quota.exempt. It needs an order'),
})

/** One page of the list. @throws StoreError, or the reason of the signal */
export async function listUsers(
  desk: Desk,
  call: CallOf<z.infer<typeof PageQuery>>,
  rosters: Rosters,
): Promise<AdminResponse> {
  const { query, signal } = call
  const view = await desk.view()
  const judge = new Judge(desk, view)
  const listed = listedUsers(desk, view, judge)
  const page = await (query.order === undefined
    ? readPage(listed, query, { at: view.at, signal, inTurn: rosters.inTurn })
    : orderedPage(listed, query, { view, signal, rosters }))
  if ('problems' in page) return badFields(page.problems)
  const ids = page.found.map(({ id }) => id)
  const judged = await judge.of(ids)
  const { found, at, refused, ...shown }: UsedPage & { readonly refused?: readonly number[] } = page
  const { recent } = query
  const { inTurn } = rosters
  const lately = recent && (await readRecent(desk, ids, { scope: 'personal', recent, at: view.at, inTurn }))
  const response: UsersResponse = {
    users: found.map((used, i) => ({
      ...userLine(view, used, judged[i] as Judged, { at, lead: ledByCaller(call) }),
      ...(refused && { refused: refused[i] ?? 0 }),
      ...(lately && { recent: lately.uses[i] }),
    })),
    ...(lately && { recent: lately.range }),
    ...shown,
  }
  return ok(response)
}

interface Asking {
  readonly view: View
  readonly signal: AbortSignal
  readonly rosters: Rosters
}

/** A page of everybody in the requested order. */
async function orderedPage({ read }: Listed, query: z.infer<typeof PageQuery>, { view, signal, rosters }: Asking) {
  const wish = rosterWish(query, view.policy)
  if ('problems' in wish) return wish
  const roster = await rosters.users({ view, signal })
  const page = await pageOf(roster, { ...wish, order: query.order ?? 'use' })
  const found = await Promise.all(page.entries.map(({ id }) => read(id)))
  const refused = page.entries.map((entry) => entry.refused)
  return { found, at: found[0]?.at ?? view.at, refused, ...shownOf(page, roster.complete, wish) }
}

function listedUsers(desk: Desk, { policy, state }: View, judge: Judge): Listed {
  return {
    scan: (cursor) => desk.store.scanUsers(cursor),
    async read(user) {
      const categories = policy.countedOf(payerOf(user))
      const { at, personal } = await desk.store.readUsage(user, categories)
      return { id: user, at, counters: new Map(categories.map((name, i) => [name, personal[i] ?? []])) }
    },
    async entitlementsOf(users) {
      const judged = await judge.of(users)
      return judged.map(({ payer, standingOf }) => ({
        plan: policy.planOf(payer)?.name ?? null,
        organisation: payer.organisation,
        isBlocked: (used, at) => standingOf(used, at).state === 'refused',
      }))
    },
    overrides: state.overrides,
    isShadowed: policy.isShadowed,
    categories: policy.categories,
    plans: policy.plans,
    windows: policy.windowsOfAnybody,
  }
}

function userLine(
  view: View,
  used: Used,
  { payer, shown }: Judged,
  { at, lead }: { readonly at: number; readonly lead: string | null },
): UsersResponse['users'][number] {
  const { policy, state } = view
  const { id: user, counters } = used
  const windows: WindowStatuses = Object.fromEntries(
    policy.categories.map((category) => [
      category,
      policy
        .limitsFor(category, payer)
        .personal.map((limit) => windowStatus('personal', limit, counters.get(category), at)),
    ]),
  )
  const standing = shown(used, at)
  const limitsOf = (category: string) => policy.limitsFor(category, payer).personal
  return {
    user,
    ...membershipShown(policy, payer),
    windows,
    override: overrideOf(state, user, at, lead),
    blocked: standing.state === 'refused',
    standing,
    ...fullnessShown(fullnessOf(counters, limitsOf, rulesOf(view, at))),
  }
}
