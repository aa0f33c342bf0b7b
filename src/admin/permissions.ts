import type { AccessKeyRecord } from '../control/access-key-store.ts'
import { overridesIn } from '../control/override-layers.ts'
import { asOverrides } from '../control/overrides.ts'
import { ledBy } from '../control/role.ts'
import { storedOf } from '../control/state.ts'
import { isUserId } from '../control/user-id.ts'
import { isObject } from '../lib/json.ts'
import { createPolicy, memberOf } from '../quota/policy.ts'
import { promised } from '../quota/window.ts'
import { conflict, type Desk } from './desk.ts'
import {
  type AdminResponse,
  badFields,
  type Call,
  type FieldProblem,
  type Identity,
  type Route,
  refusal,
} from './http.ts'
import { readIfMatch } from './if-match.ts'

/**
 * The rights of a lead, who sees and divides the quota of one organisation. A viewer may use what the guard `read` allows, and an
 * administrator everything. Each operation that requires a role has a row here: `operator` if no lead may use it, or a rule that finds
 * the organisation of a call. A rule returns the judged call, completed by what a lead may leave out.
 */

/** A person who leads one organisation. */
interface Lead {
  readonly name: string
  readonly organisation: string
}

type Judged = Call | AdminResponse
type Rule = (call: Call, lead: Lead, desk: Desk) => Judged | Promise<Judged>

/** By method and path. An operation that is missing here is closed to leads. */
export const OF_LEADS: Readonly<Record<string, Rule | 'operator'>> = {
  'GET /api/organisations/:id': ofOrganisation,
  'GET /api/organisations/:id/override': ofOrganisation,
  'GET /api/users': within,
  'GET /api/users/:id': ofMember,
  'GET /api/users/:id/override': ofMember,
  'PUT /api/users/:id/override': dividing,
  'DELETE /api/users/:id/override': ofOwnOverride,
  'GET /api/refusals': within,
  'GET /api/refusals/groups': within,
  'GET /api/usage': ofUse,
  'GET /api/tokens': within,
  'POST /api/tokens': ofNewKey,
  'DELETE /api/tokens': within,
  'POST /api/tokens/:id/rotate': ofMembersKey,
  'DELETE /api/tokens/:id': ofKey,

  'GET /api/organisations': 'operator',
  'PUT /api/organisations/:id/override': 'operator',
  'DELETE /api/organisations/:id/override': 'operator',
  'POST /api/organisations/:id/reset': 'operator',
  'DELETE /api/users/:id': 'operator',
  'GET /api/users/:id/export': 'operator',
  'POST /api/users/:id/reset': 'operator',
  'GET /api/overrides': 'operator',
  'PUT /api/overrides': 'operator',
  'GET /api/grants': 'operator',
  'POST /api/grants': 'operator',
  'DELETE /api/grants/:id': 'operator',
  'PUT /api/tokens/import': 'operator',
  'GET /api/quota': 'operator',
  'PATCH /api/quota': 'operator',
  'POST /api/quota/preview': 'operator',
  'GET /api/quota/distribution': 'operator',
  'POST /api/quota/reset': 'operator',
  'DELETE /api/quota/scheduled/:id': 'operator',
  'GET /api/plans': 'operator',
  'PATCH /api/plans/:id': 'operator',
  'POST /api/plans/:id/preview': 'operator',
  'GET /api/in-force': 'operator',
  'GET /api/in-force/users': 'operator',
  'GET /api/in-force/users/:id': 'operator',
  'GET /api/in-force/organisations': 'operator',
  'GET /api/explain': 'operator',
  'GET /api/now': 'operator',
  'GET /api/status': 'operator',
  'GET /api/routes': 'operator',
  'GET /api/failures': 'operator',
  'GET /api/alerts': 'operator',
  'POST /api/alerts/:name/test': 'operator',
  'GET /api/audit': 'operator',
  'POST /api/audit/:id/undo': 'operator',
  'POST /drain': 'operator',
}

type Operation = Pick<Route, 'method' | 'path'>

function ruleOf({ method, path }: Operation): Rule | null {
  const rule = OF_LEADS[`${method} ${path}`] ?? 'operator'
  return rule === 'operator' ? null : rule
}

/** Whether a lead may use an operation for the lead's organisation. */
export function isForLeads(operation: Operation): boolean {
  return ruleOf(operation) !== null
}

/** Why a role may not use an operation at all, as far as the guard and the path decide it. */
export function refusedTo(
  { name, role }: Identity,
  guard: 'read' | 'change',
  operation?: Operation,
): AdminResponse | null {
  if (role === 'admin' || (role === 'viewer' && guard === 'read')) return null
  const organisation = ledBy(role)
  if (organisation === null) {
    return forbidden(
      `"${name}" has the role viewer, which may look at everything and change nothing: ask with the role admin.`,
    )
  }
  if (operation !== undefined && ruleOf(operation) !== null) return null
  return forbidden(
    `"${name}" leads the organisation "${organisation}", and this is for the operator: ask with the role admin.`,
  )
}

/** The call, as far as its caller may make it, or the refusal. @throws StoreError */
export async function permitted(call: Call, operation: Operation & Pick<Route, 'guard'>, desk: Desk): Promise<Judged> {
  const { identity } = call
  const organisation = identity === null ? null : ledBy(identity.role)
  if (identity === null || organisation === null || operation.guard === 'session') return call
  const rule = ruleOf(operation)
  if (rule === null) return refusedTo(identity, 'change') ?? call
  return rule(call, { name: identity.name, organisation }, desk)
}

function forbidden(msg: string): AdminResponse {
  return refusal('forbidden', msg)
}

function notOf({ name, organisation }: Lead, what: string): AdminResponse {
  return forbidden(`"${name}" leads the organisation "${organisation}" alone, and ${what}.`)
}

function ofOrganisation(call: Call, lead: Lead): Judged {
  return call.params.id === lead.organisation ? call : notOf(lead, 'this is another one')
}

/** For lists of one organisation, which a lead need not name. */
function within(call: Call, lead: Lead): Judged {
  const { organisation = lead.organisation } = call.query
  if (organisation !== lead.organisation) return notOf(lead, 'asks for another one')
  return { ...call, query: { ...call.query, organisation } }
}

/** The usage of plans, categories and routes includes other organisations. */
function ofUse(call: Call, lead: Lead): Judged {
  const { by = 'user' } = call.query
  return by === 'user' || by === 'organisation'
    ? within(call, lead)
    : notOf(lead, 'sees use by user or by organisation')
}

async function ofMember(call: Call, lead: Lead, { store }: Desk): Promise<Judged> {
  const user = call.params.id ?? ''
  const [membership] = isUserId(user) ? await store.readMemberships([user]) : []
  return membership?.organisation === lead.organisation ? call : notMember(lead, user)
}

function notMember(lead: Lead, user: string): AdminResponse {
  return notOf(lead, `the last credential of ${JSON.stringify(user)} did not name it`)
}

/**
 * A lead may replace or remove an override that holds only within the organisation. The call gets an If-Match with the version that was
 * judged, so that it cannot replace an override that somebody has set meanwhile.
 */
async function ofOwnOverride(call: Call, lead: Lead, desk: Desk): Promise<Judged> {
  const found = await ofMember(call, lead, desk)
  if ('status' in found) return found
  const state = await desk.control.fresh()
  const [user, at] = [call.params.id ?? '', desk.control.storeTime()]
  const all = overridesIn(storedOf(state).overrides.get(user)?.value).filter(
    ({ expiresAt }) => expiresAt === null || expiresAt > at,
  )
  if (all.some((override) => override.within !== lead.organisation)) {
    return notOf(lead, 'others have set limits for this member: ask with the role admin')
  }
  // The change compares with the version in force too, so an override that has expired counts as none.
  const version = state.overrides.get(user)?.version ?? null
  const ifMatch = readIfMatch(call.headers)
  if (!ifMatch.lets(version)) return conflict(version, ifMatch)
  return { ...call, headers: { ...call.headers, 'if-match': `"${version ?? 0}"` } }
}

/** A lead can lower limits of members. No limit exceeds what the plan and the operator give, or what the organisation has. */
async function dividing(call: Call, lead: Lead, desk: Desk): Promise<Judged> {
  const judged = await ofOwnOverride(call, lead, desk)
  if ('status' in judged || !isObject(call.body)) return judged
  const { within: named = lead.organisation, plan, factor, periodDay, bypassGlobal, shadow, ...rest } = call.body
  if (named !== lead.organisation) return notOf(lead, 'sets limits within it')
  if ([plan, factor, periodDay, bypassGlobal, shadow].some((field) => field != null && field !== false)) {
    return notOf(lead, 'sets limits of members: plan, factor, periodDay, bypassGlobal and shadow are for the operator')
  }
  const problems = await tooHigh(rest, call.params.id ?? '', lead, desk)
  return problems.length > 0 ? badFields(problems) : { ...judged, body: { ...call.body, within: named } }
}

async function tooHigh(body: object, user: string, { organisation }: Lead, desk: Desk): Promise<FieldProblem[]> {
  const [view, payer] = await Promise.all([desk.view(user), desk.payerOf(user)])
  const { organisationOverrides } = view.state
  const given = asOverrides({ overrides: new Map(), organisationOverrides, grants: new Map() })
  const policy = createPolicy(view.settings, view.adaptive.factor, given)
  return Object.entries(body).flatMap(([category, row]) => {
    if (!policy.categories.includes(category) || !isObject(row)) return []
    const { personal } = policy.limitsFor(category, payer)
    const shared = policy.limitsFor(category, memberOf(organisation, { plan: payer.plan })).organisation ?? []
    return Object.entries(row).flatMap(([window, value]): FieldProblem[] => {
      const given = [...personal, ...shared].filter((limit) => limit.window.name === window).map(promised)
      const most = Math.min(...given)
      if (value === null || (typeof value === 'number' && value <= most)) return []
      return [{ path: `${category}.${window}`, msg: `may be at most ${most}: ${MOST_OF_LEADS}` }]
    })
  })
}

const MOST_OF_LEADS = 'a lead divides what the plan, the operator and the organisation give'

/**
 * The user of a new key is a member, or is new and named below the organisation, as `acme/anna`. Any other name may belong to somebody who
 * was absent for a while. The key names the member's plan.
 */
async function ofNewKey(call: Call, lead: Lead, { store }: Desk): Promise<Judged> {
  const { body } = call
  if (!isObject(body) || !isUserId(body.user)) return call
  const { user, organisation: named, plan: wanted } = body
  if (named != null && named !== lead.organisation) return notOf(lead, 'makes keys that name it')
  const [membership = null] = await store.readMemberships([user])
  const isNew = membership === null && user.startsWith(`${lead.organisation}/`)
  if (membership?.organisation !== lead.organisation && !isNew) return notMember(lead, user)
  const [last] = membership === null ? await store.readNamed([lead.organisation]) : [membership]
  const plan = last?.plan ?? null
  if (wanted != null && wanted !== plan) return notOf(lead, 'makes keys with the plan that its members have')
  return { ...call, body: { ...body, organisation: lead.organisation, plan } }
}

async function keyOf({ params }: Call, { store }: Desk): Promise<AccessKeyRecord | null> {
  const [found] = await store.findTokens([params.id ?? ''])
  return found?.record ?? null
}

async function ofKey(call: Call, lead: Lead, desk: Desk): Promise<Judged> {
  const key = await keyOf(call, desk)
  return key?.organisation === lead.organisation ? call : notOf(lead, 'it has no such key')
}

/** A key acts as its user, so a lead may not rotate the key of a user whose last credential did not name the organisation. */
async function ofMembersKey(call: Call, lead: Lead, desk: Desk): Promise<Judged> {
  const key = await keyOf(call, desk)
  if (key?.organisation !== lead.organisation) return notOf(lead, 'it has no such key')
  const [membership = null] = await desk.store.readMemberships([key.user])
  return membership === null || membership.organisation === lead.organisation ? call : notMember(lead, key.user)
}
