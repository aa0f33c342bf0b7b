import * as schemas from '../../contract/admin.ts'
import type { PlansResponse } from '../../contract/api.ts'
import { usersByPlan } from '../../control/followers.ts'
import { storedOf } from '../../control/state.ts'
import { isObject } from '../../lib/json.ts'
import { plansInForce } from '../../quota/status.ts'
import { type Desk, etag } from '../desk.ts'
import { type AdminResponse, badFields, type Call, type FieldProblem, ok, type Route, refusal } from '../http.ts'
import { planLayersShown } from '../layers-shown.ts'
import { route } from '../route.ts'
import { changeQuota, planWritten, previewOf } from './quota.ts'

/** The routes of plans. They change the settings, so everything about changes of settings applies to them. */
export function plansRoutes(desk: Desk): Route[] {
  return [
    route('GET', '/api/plans', {
      summary:
        'Lists the plans with the limits of the file, the limits that were set at run time, the limits in force, and the number of users',
      hasVersion: true,
      responses: { 200: schemas.plans },
      handle: (call) => desk.inTurn(() => list(desk, call)),
    }),
    route('PATCH', '/api/plans/:id', {
      summary: 'Changes limits of one plan on every replica within 2 seconds',
      more: 'The version is the version of all settings. `reason`, `from`, `until` and `guard` work as in PATCH /api/quota.',
      body: schemas.planPatch,
      ifMatch: true,
      hasVersion: true,
      responses: { 200: schemas.quotaChanged },
      errors: ['not_found', 'version_conflict', 'conflict'],
      handle: (call) => ofPlan(desk, call, (inner) => changeQuota(desk, inner)),
    }),
    route('POST', '/api/plans/:id/preview', {
      guard: 'read',
      summary: 'Says who would be blocked by a change of one plan, as POST /api/quota/preview does. It changes nothing',
      body: schemas.planPatch,
      responses: { 200: schemas.preview },
      errors: ['not_found'],
      handle: (call) => ofPlan(desk, call, (inner) => desk.inTurn(() => previewOf(desk, inner))),
    }),
  ]
}

async function list(desk: Desk, { signal }: Call): Promise<AdminResponse> {
  const { settings, changed, policy, state, setup, at } = await desk.view()
  const counts = await usersByPlan({
    store: desk.store,
    payersOf: (users) => desk.payersOf(users),
    overridden: state.overrides.keys(),
    exempt: setup.exempt,
    signal,
    policy,
  })
  const effective = new Map(Object.entries(plansInForce(policy)))
  const plans = [...(settings.plans ?? [])].map(([name, limits]): PlansResponse['plans'][number] => {
    const layers = planLayersShown(storedOf(state).settings.value, name, at)
    const above = `plans.${name}.`
    return {
      name,
      users: counts.get(name) ?? 0,
      file: planWritten(setup.quota.plans?.get(name) ?? limits),
      values: planWritten(limits),
      changed: changed.flatMap((path) => (path.startsWith(above) ? placesIn(path.slice(above.length)) : [])),
      effective: effective.get(name) ?? NO_LIMITS,
      ...(limits.periodDay !== undefined && { periodDay: limits.periodDay }),
      ...(layers.length > 0 && { layers }),
    }
  })
  const { version } = state.settings
  const { defaultPlan = null } = settings
  return ok(
    { version, defaultPlan, plans, usersWithoutPlan: counts.get(null) ?? 0 } satisfies PlansResponse,
    etag(version),
  )
}

/** A path below a plan, if it has three names. If another plan's name continues this one with a dot, its paths begin alike but are longer. */
function placesIn(path: string): string[] {
  return path.split('.').length === 3 ? [path] : []
}

const NO_LIMITS = { personal: {}, organisation: {} }

/** Turns the body for a plan into a change of the settings. Problems are named by their place in the body. */
async function ofPlan(desk: Desk, call: Call, handle: (call: Call) => Promise<AdminResponse>): Promise<AdminResponse> {
  const { id: name = '' } = call.params
  const plans = [...(desk.setup().quota.plans?.keys() ?? [])]
  if (!plans.includes(name)) return notInFile(name, plans)
  const { body } = call
  if (!isObject(body)) return badFields([{ path: '', msg: BODY }])
  const { reason, from, until, guard, ...limits } = body
  const terms = Object.entries({ reason, from, until, guard }).filter(([, value]) => value !== undefined)
  const response = await handle({
    ...call,
    // `fromEntries` defines a member even for a plan `__proto__`, which an assignment would not.
    body: { plans: Object.fromEntries([[name, limits]]), ...Object.fromEntries(terms) },
  })
  const { problems } = (response.body ?? {}) as { readonly problems?: readonly FieldProblem[] }
  if (problems === undefined) return response
  const above = `plans.${name}.`
  return badFields(
    problems.map(({ path, msg }) => ({ path: path.startsWith(above) ? path.slice(above.length) : path, msg })),
  )
}

const BODY = 'must be an object with personal, organisation, reason, from, until, guard'

function notInFile(name: string, plans: readonly string[]): AdminResponse {
  const known = plans.length === 0 ? 'It has none' : `Its plans are ${plans.slice(0, SHOWN).join(', ')}`
  const more = plans.length > SHOWN ? ` and ${plans.length - SHOWN} more` : ''
  const cure = 'a new one begins there, under quota.plans'
  return refusal('not_found', `The file has no plan ${JSON.stringify(name)}. ${known}${more}: ${cure}.`)
}

/** How many plans a sentence names. */
const SHOWN = 20
