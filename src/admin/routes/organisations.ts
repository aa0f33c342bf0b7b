import type { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { OrganisationResponse, OrganisationsResponse } from '../../contract/api.ts'
import type { Counter } from '../../quota/counter.ts'
import { type LimitTrace, memberOf, type Payer } from '../../quota/policy.ts'
import type { Used } from '../../quota/quota-store.ts'
import { overOf } from '../../quota/refusal.ts'
import { NO_COUNTERS, organisationBlocks } from '../../quota/standing.ts'
import { grantsShown, windowStatus } from '../../quota/status.ts'
import { promised, type Window } from '../../quota/window.ts'
import { type Desk, etag } from '../desk.ts'
import { fullnessOf, fullnessShown } from '../fullness.ts'
import { type AdminResponse, badFields, type Call, NO_CONTENT, ok, type Route } from '../http.ts'
import { limitsOfMembers, membersOf, type Turn } from '../member-plans.ts'
import { organisationOverrideOf } from '../override.ts'
import { periodDayShown, planShown } from '../plan.ts'
import { readRecent } from '../recent-use.ts'
import { pageOf } from '../roster.ts'
import type { Rosters } from '../rosters.ts'
import { type CallOf, route } from '../route.ts'
import type { View } from '../state.ts'
import { unseenMark } from '../unseen.ts'
import { readUsed } from '../used.ts'
import { OrganisationsQuery, rosterWish, rulesOf, shownOf } from '../used-list.ts'
import { withOrganisation } from '../with-id.ts'
import { organisationOverrideRoutes } from './overrides.ts'
import { layers } from './users.ts'

/** The routes of organisations: what their users have used together, and what was set for one of them. */
export function organisationRoutes(desk: Desk, rosters: Rosters): Route[] {
  return [
    route('GET', '/api/organisations', {
      summary: 'Lists organisations that credentials have named or that have an override, page by page',
      query: OrganisationsQuery,
      responses: { 200: schemas.organisations },
      handle: (call) => list(desk, call, rosters),
    }),
    route('GET', '/api/organisations/:id', {
      summary: 'The windows of one organisation, and how each limit comes about',
      hasVersion: true,
      responses: { 200: schemas.organisation },
      handle: (call) => withOrganisation(call, (id) => show(desk, id, { inTurn: rosters.inTurn, signal: call.signal })),
    }),
    ...organisationOverrideRoutes(desk),
    route('POST', '/api/organisations/:id/reset', {
      summary: 'Empties the windows of an organisation',
      more: 'The categories are emptied one after the other.',
      reads: schemas.requiredReason,
      responses: { 204: null },
      handle: (call) => withOrganisation(call, (id) => reset(desk, call, id)),
    }),
  ]
}

async function list(
  desk: Desk,
  { query, signal }: CallOf<z.infer<typeof OrganisationsQuery>>,
  rosters: Rosters,
): Promise<AdminResponse> {
  const view = await desk.view()
  const wish = rosterWish(query, view.policy)
  if ('problems' in wish) return badFields(wish.problems)
  const roster = await rosters.organisations({ view, signal })
  const page = await pageOf(roster, { ...wish, order: query.order ?? 'override' })
  const ids = page.entries.map(({ id }) => id)
  const [used, members] = await Promise.all([
    Promise.all(ids.map((id) => readUsed(desk, view.policy, 'organisation', id))),
    desk.membersOf(ids),
  ])
  const { recent } = query
  const { inTurn } = rosters
  const lately = recent && (await readRecent(desk, ids, { scope: 'organisation', recent, at: view.at, inTurn }))
  const response: OrganisationsResponse = {
    organisations: page.entries.map(({ id, plans, users, refused, tokens, state }, i) => {
      const own = used[i] ?? { id, at: view.at, counters: new Map() }
      const member = members[i] ?? memberOf(id)
      const { windows, ...line } = lineOf(view, own, member, [], own.at)
      const { worst, forecast } = fullnessShown(
        fullnessOf(own.counters, (category) => limitsOfMembers(view.policy, category, member), rulesOf(view, own.at)),
      )
      return {
        ...{ ...line, blocked: state === 'refused', windows: withoutLayers(windows) },
        ...{ plans, users, worst, forecast, tokens, refused, ...(lately && { recent: lately.uses[i] }) },
      }
    }),
    ...(lately && { recent: lately.range }),
    ...shownOf(page, roster.complete, wish),
  }
  return ok(response)
}

function withoutLayers(
  windows: OrganisationResponse['windows'],
): OrganisationsResponse['organisations'][number]['windows'] {
  return Object.fromEntries(
    Object.entries(windows).map(([category, each]) => [
      category,
      each.map(({ source: _, steps: __, ...rest }) => rest),
    ]),
  )
}

async function show(desk: Desk, id: string, turn: Turn): Promise<AdminResponse> {
  const [view, [member = memberOf(id)]] = await Promise.all([desk.view(), desk.membersOf([id])])
  const used = await readUsed(desk, view.policy, 'organisation', id)
  const members = await membersOf(desk, view, turn, used, member, used.at)
  const counters = { personal: NO_COUNTERS, organisation: (of: string) => used.counters.get(of), global: NO_COUNTERS }
  const hasUsed = [...used.counters.values()].some((counter) => counter.length > 0)
  const response: OrganisationResponse = {
    ...lineOf(view, used, member, members, used.at),
    ...(!hasUsed && (await unseenMark(desk.store, { organisation: id }))),
    ...periodDayShown(view.policy, member, 'organisation'),
    ...grantsShown(view.policy, counters, memberOf(id), used.at),
  }
  return ok(response, etag(response.override?.version ?? 0))
}

/** @param member a user with the plan that was named last @param members one user for each plan, to judge whether the organisation is blocked */
function lineOf(view: View, used: Used, member: Payer, members: readonly Payer[], at: number): OrganisationResponse {
  const { policy, state } = view
  const { id, counters } = used
  const windows = Object.fromEntries(
    policy.categories.map((category) => {
      const rows = rowsOf(view, category, member)
      return [category, rows.map((row) => windowOf(row, counters.get(category), at))]
    }),
  )
  return {
    organisation: id,
    ...planShown(policy, member),
    windows,
    override: organisationOverrideOf(state, id, at),
    blocked: isBlocked(view, members, used, at),
  }
}

/** Whether the windows of the organisation refuse some of its users now. */
function isBlocked({ policy, setup, shadow }: View, members: Iterable<Payer>, { counters }: Used, at: number): boolean {
  return organisationBlocks({ policy, cheapest: setup.cheapest, shadow }, members, counters, at).length > 0
}

interface Row {
  readonly window: Window
  readonly limits: Readonly<Record<string, number>>
  readonly inForce: LimitTrace | undefined
}

/** The windows that some plan or the override limits, shortest first. */
function rowsOf({ policy, origin }: View, category: string, member: Payer): Row[] {
  const traced = policy.trace(category, member, origin).organisation ?? []
  return policy.windowsOf(member, 'organisation').flatMap((window): Row[] => {
    const isIt = (limit: { readonly window: Window }) => limit.window.name === window.name
    const byPlan = policy.plans.flatMap((plan) => {
      const limit = policy.limitsOf(category, plan).organisation?.find(isIt)
      return limit === undefined ? [] : [[plan, promised(limit)] as const]
    })
    const inForce = traced.find(isIt)
    return inForce === undefined && byPlan.length === 0 ? [] : [{ window, limits: Object.fromEntries(byPlan), inForce }]
  })
}

function windowOf(
  { window, limits, inForce }: Row,
  counter: Counter | undefined,
  at: number,
): OrganisationResponse['windows'][string][number] {
  const limit = inForce ?? { window, limit: 0 }
  const { used, startedAt, resetAt } = windowStatus('organisation', limit, counter, at)
  const made = inForce === undefined ? { source: '', steps: [] } : layers(inForce)
  const amount = inForce === undefined ? null : promised(inForce)
  return { window: window.name, limits, limit: amount, ...overOf(limit), used, startedAt, resetAt, ...made }
}

/** Resets category after category. Each gets its own entry in the audit. */
async function reset(desk: Desk, call: Call, organisation: string): Promise<AdminResponse> {
  const { policy, setup } = await desk.view()
  // By a window of the file, a month that began on a day of the organisation's own may seem over.
  const windows = policy.windowsOfAnybody
  for (const category of setup.quota.baselines.personal.keys()) {
    await desk.record(call, { kind: 'quota_reset', organisation, category, windows, all: true }, () => NO_CONTENT)
  }
  return NO_CONTENT
}
