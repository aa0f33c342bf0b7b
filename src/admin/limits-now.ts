import { z } from 'zod'
import * as schemas from '../contract/admin.ts'
import type {
  InForceResponse,
  LimitInForceResponse,
  OrganisationOverridesInForceResponse,
  OverridesInForceResponse,
  UserInForceResponse,
} from '../contract/api.ts'
import type { ControlState } from '../control/state.ts'
import { SCOPE_NAMES, type ScopeName } from '../quota/charged-scopes.ts'
import { type Payer, type Policy, payerOf } from '../quota/policy.ts'
import { overOf, SCOPE_TITLES } from '../quota/refusal.ts'
import { type Limit, promised } from '../quota/window.ts'
import { type Desk, etag } from './desk.ts'
import { type AdminResponse, ok, type Route } from './http.ts'
import { organisationOverrideOf, overrideOf } from './override.ts'
import { route } from './route.ts'
import { settingsInForce } from './routes/quota.ts'
import { layers } from './routes/users.ts'
import { type InForce, inForceOf } from './state.ts'
import { OrganisationsQuery, UsersQuery } from './used-list.ts'
import { withUser } from './with-id.ts'

/**
 * Routes that show what this gateway enforces. They do not ask the store, so they respond even while it is out. Usage
 * is therefore missing, and a change by another replica may appear a second later.
 */
export function inForceRoutes(desk: Desk): Route[] {
  return [
    route('GET', '/api/in-force', {
      summary: 'The settings that this gateway enforces. It works without the store',
      more: 'A change that another replica has made may arrive here up to a second later.',
      hasVersion: true,
      responses: { 200: schemas.inForce },
      handle: () => show(desk),
    }),
    route('GET', '/api/in-force/users', {
      summary: 'The overrides of users that this gateway enforces. It works without the store',
      query: queryOf(UsersQuery),
      responses: { 200: schemas.overridesInForce },
      handle: ({ query }) => {
        const { found, total } = list(desk, 'overrides', overrideOf, query)
        return ok({
          users: found.map(([user, override]) => ({ user, override })),
          total,
        } satisfies OverridesInForceResponse)
      },
    }),
    route('GET', '/api/in-force/users/:id', {
      summary: 'The limits of one user that this gateway enforces. It works without the store',
      hasVersion: true,
      responses: { 200: schemas.userInForce },
      handle: (call) => withUser(call, (user) => showUser(desk, user)),
    }),
    route('GET', '/api/in-force/organisations', {
      summary: 'The overrides of organisations that this gateway enforces. It works without the store',
      query: queryOf(OrganisationsQuery),
      responses: { 200: schemas.organisationOverridesInForce },
      handle: ({ query }) => {
        const { found, total } = list(desk, 'organisationOverrides', organisationOverrideOf, query)
        const organisations = found.map(([organisation, override]) => ({ organisation, override }))
        return ok({ organisations, total } satisfies OrganisationOverridesInForceResponse)
      },
    }),
  ]
}

type Query = z.infer<ReturnType<typeof queryOf>>

/** The parameters of a list that need no store. */
function queryOf({ shape: { query, limit } }: typeof OrganisationsQuery | typeof UsersQuery) {
  return z.strictObject({ query, limit })
}

function inForce({ setup, control, adaptive, knownUsers }: Desk): InForce {
  return inForceOf(setup(), control.state(), adaptive().factor, knownUsers.isKnown)
}

function show(desk: Desk): AdminResponse {
  const { storeOutage } = desk.setup()
  const response: InForceResponse = {
    ...settingsInForce(inForce(desk), desk.adaptive().factor, desk.control.storeTime()),
    storeOutage: Object.fromEntries(storeOutage),
  }
  return ok(response, etag(response.version))
}

/** The first overrides of ids that contain a text in any letter case, in the order of the ids, and how many there are. */
function list<T>(
  { control }: Desk,
  whose: 'overrides' | 'organisationOverrides',
  shownIn: (state: ControlState, id: string, at: number) => T | null,
  { query, limit }: Query,
): { readonly found: (readonly [id: string, override: T])[]; readonly total: number } {
  const state = control.state()
  const wanted = query.toLowerCase()
  const ids = [...state[whose].keys()].filter((id) => id.toLowerCase().includes(wanted)).sort()
  const found = ids.slice(0, limit).flatMap((id) => {
    const override = shownIn(state, id, control.storeTime())
    return override === null ? [] : [[id, override] as const]
  })
  return { found, total: ids.length }
}

function showUser(desk: Desk, user: string): AdminResponse {
  const { policy, state, origin, settings, setup } = inForce(desk)
  const [usual, ...others] = possiblePayers(policy, user)
  let isAll = state.organisationOverrides.size === 0 && !limitsOrganisations(policy)
  const limits = policy.categories.map((category): [string, LimitInForceResponse[]] => {
    const trace = policy.trace(category, usual, origin)
    const rows = SCOPE_NAMES.flatMap((scope) => {
      const all = trace[scope] ?? []
      const certain = all.filter((limit) => others.every((payer) => hasSame(policy, category, scope, payer, limit)))
      // A window that only another plan limits makes a difference too.
      const most = Math.max(...others.map((payer) => policy.limitsFor(category, payer)[scope]?.length ?? 0), 0)
      isAll &&= certain.length === all.length && most <= all.length
      return certain.map((each) => ({
        ...{ scope: SCOPE_TITLES[scope], window: each.window.name, limit: promised(each), ...overOf(each) },
        ...layers(each),
      }))
    })
    return [category, rows]
  })
  const override = overrideOf(state, user, desk.control.storeTime())
  const response: UserInForceResponse = {
    user,
    limits: Object.fromEntries(limits),
    ...(!isAll && { incomplete: true }),
    override,
    exempt: setup.exempt.has(user),
    ...(settings.reserve !== undefined && { known: override !== null || desk.knownUsers.standing(user) }),
  }
  return ok(response, etag(override?.version ?? 0))
}

/** The user with each possible plan, because only the store knows which plan the credential has named. */
function possiblePayers(policy: Policy, user: string): readonly [Payer, ...Payer[]] {
  const payer = payerOf(user)
  const isSet = policy.planOf(payer)?.from === 'override'
  return [payer, ...(isSet ? [] : policy.plans.map((plan) => ({ ...payer, plan })))]
}

/** Whether some plan limits organisations, so that the user may belong to a limited one. */
function limitsOrganisations(policy: Policy): boolean {
  return policy.plans.some((plan) =>
    policy.categories.some((category) => (policy.limitsOf(category, plan).organisation ?? []).length > 0),
  )
}

function hasSame(policy: Policy, category: string, scope: ScopeName, payer: Payer, limit: Limit): boolean {
  const found = policy.limitsFor(category, payer)[scope]?.find(({ window }) => window.name === limit.window.name)
  return found?.limit === limit.limit && found.over === limit.over
}
