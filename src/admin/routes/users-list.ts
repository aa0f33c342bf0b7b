import { z } from 'zod'
import type { UsersResponse } from '../../contract/api.ts'
import { isUserId, USER_ID } from '../../control/user-id.ts'
import type { InTurn } from '../../lib/serialize.ts'
import type { Used } from '../../quota/quota-store.ts'
import { type WindowStatuses, windowStatus } from '../../quota/status.ts'
import type { Desk } from '../desk.ts'
import { readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, ok } from '../http.ts'
import { overrideOf } from '../override.ts'
import { membershipShown } from '../plan.ts'
import { readRecent } from '../recent-use.ts'
import { Judge, type Judged } from '../standing.ts'
import type { View } from '../state.ts'
import { only } from '../used-filter.ts'
import { type Listed, pageQuery, readPage } from '../used-list.ts'

/** The query of the list. */
export const PageQuery = pageQuery('user').extend({
  organisation: z
    .string({ error: 'must be given once' })
    .refine(isUserId, { error: `must be an organisation: ${USER_ID}` })
    .optional()
    .meta({ description: 'Only those whose last credential named this organisation' }),
  shadow: only('Only those to whom nothing is refused by their override'),
})

/** One page of the list. @throws StoreError, or the reason of the signal */
export async function listUsers(desk: Desk, { query, signal }: Call, inTurn: InTurn): Promise<AdminResponse> {
  const fields = readFields(PageQuery, query)
  if ('problems' in fields) return badFields(fields.problems)
  const view = await desk.view()
  const judge = new Judge(desk, view)
  const page = await readPage(listedUsers(desk, view, judge), fields.data, { at: view.at, signal, inTurn })
  if ('problems' in page) return badFields(page.problems)
  const ids = page.found.map(({ id }) => id)
  const judged = await judge.of(ids)
  const { recent } = fields.data
  const lately = recent && (await readRecent(desk, ids, { scope: 'personal', recent, at: view.at, inTurn }))
  const response: UsersResponse = {
    users: page.found.map((used, i) => ({
      ...userLine(view, used, judged[i] as Judged, page.at),
      ...(lately && { recent: lately.uses[i] }),
    })),
    ...(lately && { recent: lately.range }),
    next: page.next,
  }
  return ok(response)
}

function listedUsers(desk: Desk, { policy, state, setup }: View, judge: Judge): Listed {
  return {
    scan: (cursor) => desk.store.scanUsers(cursor),
    async read(user) {
      const { at, personal } = await desk.store.readUsage(user, policy.categories)
      return { id: user, at, counters: new Map(policy.categories.map((name, i) => [name, personal[i] ?? []])) }
    },
    async entitlementsOf(users) {
      const judged = await judge.of(users)
      return judged.map(({ payer, standingOf }) => ({
        limitsOf: (category) => policy.limitsFor(category, payer).personal,
        plan: policy.planOf(payer)?.name ?? null,
        organisation: payer.organisation,
        isBlocked: (used, at) => standingOf(used, at).state === 'refused',
      }))
    },
    overrides: state.overrides,
    isShadowed: policy.isShadowed,
    categories: policy.categories,
    plans: policy.plans,
    windows: setup.quota.windows,
  }
}

function userLine(
  { policy, state }: View,
  used: Used,
  { payer, shown }: Judged,
  at: number,
): UsersResponse['users'][number] {
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
  return {
    user,
    ...membershipShown(policy, payer),
    windows,
    override: overrideOf(state, user, at),
    blocked: standing.state === 'refused',
    standing,
  }
}
