import type { UsersResponse } from '../../contract/api.ts'
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
import { readUsed } from '../used.ts'
import { rosterWish, rulesOf, shownOf, type UsersQuery } from '../used-list.ts'
import { readPage, type UsersPage } from '../users-scan.ts'

/** One page of the list. @throws StoreError, or the reason of the signal */
export async function listUsers(desk: Desk, call: CallOf<UsersQuery>, rosters: Rosters): Promise<AdminResponse> {
  const { query, signal } = call
  const view = await desk.view()
  const judge = new Judge(desk, view)
  const { inTurn } = rosters
  const page = await (query.order === undefined
    ? readPage({ desk, view, judge, signal, inTurn }, query)
    : orderedPage(desk, query, { view, signal, rosters }))
  if ('problems' in page) return badFields(page.problems)
  const ids = page.found.map(({ id }) => id)
  const judged = await judge.of(ids)
  const { found, at, refused, ...shown }: UsersPage & { readonly refused?: readonly number[] } = page
  const { recent } = query
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
async function orderedPage(desk: Desk, query: UsersQuery, { view, signal, rosters }: Asking) {
  const wish = rosterWish(query, view.policy)
  if ('problems' in wish) return wish
  const roster = await rosters.users({ view, signal })
  const page = await pageOf(roster, { ...wish, order: query.order ?? 'use' })
  const found = await Promise.all(page.entries.map(({ id }) => readUsed(desk, view.policy, 'personal', id)))
  const refused = page.entries.map((entry) => entry.refused)
  return { found, at: found[0]?.at ?? view.at, refused, ...shownOf(page, roster.complete, wish) }
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
