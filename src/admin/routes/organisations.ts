import * as schemas from '../../contract/admin.ts'
import type { OrganisationResponse, OrganisationsResponse } from '../../contract/api.ts'
import { type InTurn, oneAtATime } from '../../lib/serialize.ts'
import type { Counter } from '../../quota/counter.ts'
import { type LimitTrace, memberOf, type Payer, type Policy } from '../../quota/policy.ts'
import type { Used } from '../../quota/quota-store.ts'
import { overOf } from '../../quota/refusal.ts'
import { organisationBlocks } from '../../quota/standing.ts'
import { windowStatus } from '../../quota/status.ts'
import { type Limit, promised, type Window } from '../../quota/window.ts'
import { type Desk, etag } from '../desk.ts'
import { readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, NO_CONTENT, ok, type Route } from '../http.ts'
import { MemberPlans, type Turn } from '../member-plans.ts'
import { organisationOverrideOf } from '../override.ts'
import { planShown } from '../plan.ts'
import { readRecent } from '../recent-use.ts'
import type { View } from '../state.ts'
import { type Listed, pageQuery, readPage } from '../used-list.ts'
import { withOrganisation } from '../with-id.ts'
import { organisationOverrideRoutes } from './overrides.ts'
import { layers } from './users.ts'

/** The routes of organisations: what their users have used together, and what was set for one of them. */
export function organisationRoutes(desk: Desk): Route[] {
  const inTurn = oneAtATime()
  return [
    {
      method: 'GET',
      path: '/api/organisations',
      guard: 'read',
      doc: {
        summary: 'Organisations whose users have used something, or with an override, page by page',
        query: Query,
        responses: { 200: schemas.organisations },
      },
      handle: (call) => list(desk, call, inTurn),
    },
    {
      method: 'GET',
      path: '/api/organisations/:id',
      guard: 'read',
      doc: {
        summary: 'The windows of one organisation, with the layers of each limit',
        hasVersion: true,
        responses: { 200: schemas.organisation },
      },
      handle: (call) => withOrganisation(call, (id) => show(desk, id, { inTurn, signal: call.signal })),
    },
    ...organisationOverrideRoutes(desk),
    {
      method: 'POST',
      path: '/api/organisations/:id/reset',
      guard: 'change',
      doc: {
        summary: 'Empties the windows of an organisation',
        body: schemas.requiredReason,
        responses: { 204: null },
      },
      handle: (call) => withOrganisation(call, (id) => reset(desk, call, id)),
    },
  ]
}

const Query = pageQuery('organisation')

async function list(desk: Desk, { query, signal }: Call, inTurn: InTurn): Promise<AdminResponse> {
  const fields = readFields(Query, query)
  if ('problems' in fields) return badFields(fields.problems)
  const view = await desk.view()
  const plans = new MemberPlans(desk, view, { inTurn, signal })
  const listed = listedOrganisations(desk, view, fields.data.blocked ? plans : null)
  const page = await readPage(listed, fields.data, { at: view.at, signal, inTurn })
  if ('problems' in page) return badFields(page.problems)
  const ids = page.found.map(({ id }) => id)
  const members = await desk.membersOf(ids)
  const ofPlans = await plans.of(page.found, members, page.at)
  const { recent } = fields.data
  const lately = recent && (await readRecent(desk, ids, { scope: 'organisation', recent, at: view.at, inTurn }))
  const response: OrganisationsResponse = {
    organisations: page.found.map((used, i) => {
      const { windows, ...line } = lineOf(view, used, members[i] ?? memberOf(used.id), ofPlans[i] ?? [], page.at)
      return { ...line, windows: withoutLayers(windows), ...(lately && { recent: lately.uses[i] }) }
    }),
    ...(lately && { recent: lately.range }),
    next: page.next,
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

/** @param plans if it is asked who is blocked */
function listedOrganisations(desk: Desk, view: View, plans: MemberPlans | null): Listed {
  const { policy, state, setup } = view
  return {
    scan: (cursor) => desk.store.scanOrganisations(cursor),
    read: (id) => read(desk, policy, id),
    async entitlementsOf(organisations) {
      const members = await desk.membersOf(organisations)
      const ofPlans = plans === null ? [] : await plans.all(members)
      return members.map((member, i) => ({
        limitsOf: (category) => limitsOfMembers(policy, category, member),
        plan: policy.planOf(member)?.name ?? null,
        isBlocked: (used, at) => isBlocked(view, ofPlans[i] ?? [], used, at),
      }))
    },
    overrides: state.organisationOverrides,
    isShadowed: () => false,
    categories: policy.categories,
    plans: policy.plans,
    windows: setup.quota.windows,
  }
}

/** Whose own usage is not looked at. */
const ANYBODY = 'anybody'

async function read({ store }: Desk, { categories }: Policy, id: string): ReturnType<Listed['read']> {
  const { at, organisation } = await store.readUsage(ANYBODY, categories, id)
  return { id, at, counters: new Map(categories.map((category, i) => [category, organisation?.[i] ?? []])) }
}

async function show(desk: Desk, id: string, turn: Turn): Promise<AdminResponse> {
  const [view, [member = memberOf(id)]] = await Promise.all([desk.view(), desk.membersOf([id])])
  const used = await read(desk, view.policy, id)
  const [members = []] = await new MemberPlans(desk, view, turn).of([used], [member], used.at)
  const response: OrganisationResponse = lineOf(view, used, member, members, used.at)
  return ok(response, etag(response.override?.version ?? 0))
}

/** @param member the user who spoke last, with the plan @param members one for each plan that they have */
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

/**
 * What the organisation's windows are held against. Where the plan that was named last limits no window, some other user may have
 * a plan that does: then the highest limit of these counts.
 */
function limitsOfMembers(policy: Policy, category: string, member: Payer): readonly Limit[] {
  const highest = new Map<string, Limit>()
  for (const plan of policy.plans) {
    for (const limit of policy.limitsOf(category, plan).organisation ?? []) {
      const known = highest.get(limit.window.name)
      if (known === undefined || known.limit < limit.limit) highest.set(limit.window.name, limit)
    }
  }
  for (const limit of policy.limitsFor(category, member).organisation ?? []) highest.set(limit.window.name, limit)
  return [...highest.values()]
}

/** The windows that some plan or the override limits, shortest first. */
function rowsOf({ policy, origin, setup }: View, category: string, member: Payer): Row[] {
  const traced = policy.trace(category, member, origin).organisation ?? []
  return setup.quota.windows.flatMap((window): Row[] => {
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

/** Category by category, each with its entry in the audit. */
async function reset(desk: Desk, call: Call, organisation: string): Promise<AdminResponse> {
  const fields = readFields(schemas.requiredReason, call.body)
  if ('problems' in fields) return badFields(fields.problems)
  const { windows, baselines } = desk.setup().quota
  for (const category of baselines.personal.keys()) {
    await desk.record(call, { kind: 'quota_reset', organisation, category, windows, all: true }, () => NO_CONTENT)
  }
  return NO_CONTENT
}
