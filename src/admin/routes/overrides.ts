import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import type { Change } from '../../control/control-store.ts'
import { organisationOverrideFrom, overrideFrom } from '../../control/overrides.ts'
import type { FileSettings } from '../../control/settings.ts'
import type { ControlState, OrganisationOverride, UserOverride, Versioned } from '../../control/state.ts'
import { tooDearFor, tooDearForOrganisation } from '../../control/too-dear.ts'
import type { OrganisationOverrideResponse, OverrideResponse, WarningResponse } from '../api.ts'
import { type Desk, etag } from '../desk.ts'
import { readFields } from '../fields.ts'
import {
  type AdminResponse,
  badFields,
  type Call,
  type FieldProblem,
  NO_CONTENT,
  ok,
  type Route,
  refusal,
} from '../http.ts'
import { organisationOverrideOf, overrideOf } from '../override.ts'
import * as schemas from '../schemas.ts'
import type { View } from '../state.ts'
import { withOrganisation, withUser } from '../with-id.ts'

/** What has overrides of its own: users, or organisations. `Stored` is one as it is kept, `Shown` as the API shows it. */
interface Overridden<Stored, Shown extends { readonly version: number }> {
  readonly path: string
  /** For sentences: `a user`. */
  readonly one: string
  readonly schemas: { readonly body: z.ZodType; readonly shown: z.ZodType; readonly set: z.ZodType }
  readonly withId: typeof withUser
  readonly read: (
    body: unknown,
    file: FileSettings,
    now: number,
  ) => { readonly override: Stored } | { readonly problems: readonly FieldProblem[] }
  readonly storedIn: (state: ControlState) => ReadonlyMap<string, Versioned<Stored>>
  readonly shownIn: (state: ControlState, id: string) => Shown | null
  readonly changeTo: (id: string, to: Stored | null) => Change
  readonly warningsOf: (view: View, id: string, override: Shown) => readonly WarningResponse[]
}

const USERS: Overridden<UserOverride, OverrideResponse> = {
  path: '/api/users/:id/override',
  one: 'a user',
  schemas: { body: schemas.overrideBody, shown: schemas.override, set: schemas.overrideSet },
  withId: withUser,
  read: overrideFrom,
  storedIn: ({ overrides }) => overrides,
  shownIn: overrideOf,
  changeTo: (user, to) => ({ kind: 'override', user, to }),
  warningsOf: ({ policy, setup }, user, override) => tooDearFor(policy, user, override, setup.priced),
}

const ORGANISATIONS: Overridden<OrganisationOverride, OrganisationOverrideResponse> = {
  path: '/api/organisations/:id/override',
  one: 'an organisation',
  schemas: {
    body: schemas.organisationOverrideBody,
    shown: schemas.organisationOverride,
    set: schemas.organisationOverrideSet,
  },
  withId: withOrganisation,
  read: organisationOverrideFrom,
  storedIn: ({ organisationOverrides }) => organisationOverrides,
  shownIn: organisationOverrideOf,
  changeTo: (organisation, to) => ({ kind: 'organisation_override', organisation, to }),
  warningsOf: ({ policy, setup }, id, override) => tooDearForOrganisation(policy, id, override, setup.priced),
}

/** The routes of what is set for one user. */
export const overrideRoutes = (desk: Desk): Route[] => routesOf(desk, USERS)

/** The routes of what is set for one organisation. */
export const organisationOverrideRoutes = (desk: Desk): Route[] => routesOf(desk, ORGANISATIONS)

function routesOf<S, R extends { readonly version: number }>(desk: Desk, of: Overridden<S, R>): Route[] {
  const { path, one, withId } = of
  return [
    {
      method: 'GET',
      path,
      guard: 'read',
      doc: { summary: `What was set for ${one}`, responses: { 200: of.schemas.shown }, errors: ['not_found'] },
      handle: (call) => withId(call, (id) => show(desk, of, id)),
    },
    {
      method: 'PUT',
      path,
      guard: 'change',
      doc: {
        summary: `Sets limits for ${one} in the place of those that were set before`,
        body: of.schemas.body,
        ifMatch: true,
        responses: { 200: of.schemas.set },
        errors: ['version_conflict', 'conflict'],
      },
      handle: (call) => withId(call, (id) => set(desk, of, call, id)),
    },
    {
      method: 'DELETE',
      path,
      guard: 'change',
      doc: {
        summary: `Takes away what was set for ${one}`,
        body: schemas.optionalReason,
        ifMatch: true,
        responses: { 204: null },
        errors: ['not_found', 'version_conflict', 'conflict'],
      },
      handle: (call) => withId(call, (id) => takeAway(desk, of, call, id)),
    },
  ]
}

async function show<S, R extends { readonly version: number }>(
  { control }: Desk,
  of: Overridden<S, R>,
  id: string,
): Promise<AdminResponse> {
  const override = of.shownIn(await control.fresh(), id)
  return override === null ? noOverride(of) : ok(override, etag(override.version))
}

function noOverride({ one }: Pick<Overridden<never, never>, 'one'>): AdminResponse {
  return refusal('not_found', `Nothing was set for ${one.replace(/^an? /, 'this ')}.`)
}

async function set<S, R extends { readonly version: number }>(
  desk: Desk,
  of: Overridden<S, R>,
  call: Call,
  id: string,
): Promise<AdminResponse> {
  const { at } = await desk.store.controlVersion()
  const read = of.read(call.body, desk.setup().quota, at)
  if ('problems' in read) return badFields(read.problems)
  const net = readFields(of.schemas.body, call.body)
  if ('problems' in net) return badFields(net.problems)
  return desk.change(call, {
    versionOf: (state) => of.storedIn(state).get(id)?.version ?? null,
    changeOf(state) {
      const isSet = isDeepStrictEqual(of.storedIn(state).get(id)?.value, read.override)
      return isSet ? null : of.changeTo(id, read.override)
    },
    response: () => showSet(desk, of, id),
  })
}

/** The override, with the warnings of it. */
async function showSet<S, R extends { readonly version: number }>(
  desk: Desk,
  of: Overridden<S, R>,
  id: string,
): Promise<AdminResponse> {
  const view = await desk.view()
  const override = of.shownIn(view.state, id)
  if (override === null) return noOverride(of)
  return ok({ ...override, warnings: of.warningsOf(view, id, override) }, etag(override.version))
}

async function takeAway<S, R extends { readonly version: number }>(
  desk: Desk,
  of: Overridden<S, R>,
  call: Call,
  id: string,
): Promise<AdminResponse> {
  const fields = readFields(schemas.optionalReason, call.body)
  if ('problems' in fields) return badFields(fields.problems)
  let found = true
  return desk.change(call, {
    versionOf: (state) => of.storedIn(state).get(id)?.version ?? null,
    changeOf(state) {
      found = of.storedIn(state).has(id)
      return found ? of.changeTo(id, null) : null
    },
    response: () => (found ? NO_CONTENT : noOverride(of)),
  })
}
