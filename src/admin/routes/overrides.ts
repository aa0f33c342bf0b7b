import type { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type {
  OrganisationOverrideResponse,
  OverrideResponse,
  TakenAwayResponse,
  WarningResponse,
} from '../../contract/api.ts'
import type { AuditEntry, Change } from '../../control/control-store.ts'
import type { Whose } from '../../control/override-file.ts'
import { hasTooMany, TOO_MANY, withOverride } from '../../control/override-layers.ts'
import { organisationOverrideFrom, overrideFrom } from '../../control/overrides.ts'
import type { FileSettings } from '../../control/settings.ts'
import {
  type ControlState,
  type OrganisationOverride,
  type Packed,
  type StoredControl,
  storedOf,
  type UserOverride,
  type Versioned,
} from '../../control/state.ts'
import { sameJson } from '../../lib/json.ts'
import { authorName, type Desk, etag } from '../desk.ts'
import { readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, type FieldProblem, ok, type Route, refusal } from '../http.ts'
import { endsOf } from '../layers-shown.ts'
import { ledByCaller, organisationOverrideOf, overrideOf } from '../override.ts'
import { route } from '../route.ts'
import type { View } from '../state.ts'
import { tooDearFor, tooDearForOrganisation } from '../too-dear.ts'
import { unseenMark } from '../unseen.ts'
import { withOrganisation, withUser } from '../with-id.ts'

/** Users or organisations, which have overrides. `Stored` is the stored form of one, and `Shown` that of the API. */
interface Overridden<
  Stored extends Pick<UserOverride, 'reason' | 'expiresAt'>,
  Shown extends { readonly version: number },
> {
  readonly path: string
  /** For sentences, like `a user`. */
  readonly one: string
  readonly schemas: { readonly body: z.ZodType; readonly shown: z.ZodType; readonly set: z.ZodType }
  readonly withId: typeof withUser
  readonly whose: (id: string) => Whose
  readonly read: (
    body: unknown,
    file: FileSettings,
    now: number,
  ) => { readonly override: Stored } | { readonly problems: readonly FieldProblem[] }
  readonly storedIn: (state: StoredControl) => ReadonlyMap<string, Versioned<Packed<Stored>>>
  readonly shownIn: (state: ControlState, id: string, at: number, lead?: string | null) => Shown | null
  readonly changeTo: (id: string, to: Packed<Stored> | null) => Change
  readonly warningsOf: (view: View, id: string, override: Shown) => readonly WarningResponse[]
  /** Additional facts in the response to a change. Default none. */
  readonly alsoOf?: (view: View, id: string) => { readonly exempt: boolean }
}

const USERS: Overridden<UserOverride, OverrideResponse> = {
  path: '/api/users/:id/override',
  one: 'a user',
  schemas: { body: schemas.overrideBody, shown: schemas.override, set: schemas.overrideSet },
  withId: withUser,
  whose: (user) => ({ user }),
  read: overrideFrom,
  storedIn: ({ overrides }) => overrides,
  shownIn: overrideOf,
  changeTo: (user, to) => ({ kind: 'override', user, to }),
  warningsOf: ({ policy, setup }, user, override) =>
    setup.exempt.has(user) ? [] : tooDearFor(policy, user, override, setup.priced),
  alsoOf: ({ setup }, user) => ({ exempt: setup.exempt.has(user) }),
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
  whose: (organisation) => ({ organisation }),
  read: organisationOverrideFrom,
  storedIn: ({ organisationOverrides }) => organisationOverrides,
  shownIn: organisationOverrideOf,
  changeTo: (organisation, to) => ({ kind: 'organisation_override', organisation, to }),
  warningsOf: ({ policy, setup }, id, override) => tooDearForOrganisation(policy, id, override, setup.priced),
}

/** The routes of overrides of one user. */
export const overrideRoutes = (desk: Desk): Route[] => routesOf(desk, USERS)

/** The routes of overrides of one organisation. */
export const organisationOverrideRoutes = (desk: Desk): Route[] => routesOf(desk, ORGANISATIONS)

function routesOf<S extends Pick<UserOverride, 'reason' | 'expiresAt'>, R extends { readonly version: number }>(
  desk: Desk,
  of: Overridden<S, R>,
): Route[] {
  const { path, one, withId } = of
  return [
    route('GET', path, {
      summary: `The override of ${one}`,
      hasVersion: true,
      responses: { 200: of.schemas.shown },
      errors: ['not_found'],
      handle: (call) => withId(call, (id) => show(desk, of, id, ledByCaller(call))),
    }),
    route('PUT', path, {
      summary: `Sets the override of ${one}, which replaces the one that was set before`,
      more: 'A field that the body leaves out, or sets to null, gets its default.',
      body: of.schemas.body,
      ifMatch: true,
      hasVersion: true,
      responses: { 200: of.schemas.set },
      errors: ['version_conflict', 'conflict'],
      handle: (call) => withId(call, (id) => set(desk, of, call, id)),
    }),
    route('DELETE', path, {
      summary: `Removes the override of ${one}`,
      reads: schemas.optionalReason,
      ifMatch: true,
      responses: { 200: schemas.takenAway },
      errors: ['not_found', 'version_conflict', 'conflict'],
      handle: (call) => withId(call, (id) => takeAway(desk, of, call, id)),
    }),
  ]
}

async function show<S extends Pick<UserOverride, 'reason' | 'expiresAt'>, R extends { readonly version: number }>(
  { control }: Desk,
  of: Overridden<S, R>,
  id: string,
  lead: string | null,
): Promise<AdminResponse> {
  const override = of.shownIn(await control.fresh(), id, control.storeTime(), lead)
  return override === null ? noOverride(of) : ok(override, etag(override.version))
}

function noOverride({ one }: Pick<Overridden<never, never>, 'one'>): AdminResponse {
  return refusal('not_found', `Nothing was set for ${one.replace(/^an? /, 'this ')}.`)
}

async function set<S extends Pick<UserOverride, 'reason' | 'expiresAt'>, R extends { readonly version: number }>(
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
  const who = authorName(call.identity)
  const before = of.storedIn(storedOf(await desk.control.fresh())).get(id)?.value ?? null
  if (hasTooMany(withOverride(before, read.override, who, at))) return badFields([TOO_MANY])
  return desk.change(call, {
    versionOf: (state) => versionIn(of, state, id),
    changeOf(state) {
      const before = of.storedIn(storedOf(state)).get(id)?.value ?? null
      const to = withOverride(before, read.override, who, at)
      return sameJson(before, to) ? null : of.changeTo(id, to)
    },
    response: (entry) => showSet(desk, of, id, entry),
  })
}

/** The version of what is in force. An override that is over counts as none. */
function versionIn<S extends Pick<UserOverride, 'reason' | 'expiresAt'>>(
  of: Pick<Overridden<S, never>, 'storedIn'>,
  state: ControlState,
  id: string,
): number | null {
  return of.storedIn(state).get(id)?.version ?? null
}

/** The override, with hints for the administrator who has set it. */
async function showSet<S extends Pick<UserOverride, 'reason' | 'expiresAt'>, R extends { readonly version: number }>(
  desk: Desk,
  of: Overridden<S, R>,
  id: string,
  entry: AuditEntry | undefined,
): Promise<AdminResponse> {
  const [view, mark] = await Promise.all([desk.view(), unseenMark(desk.store, of.whose(id))])
  const override = of.shownIn(view.state, id, view.at)
  if (override === null) return noOverride(of)
  const ends = endsOf(entry)
  const warnings = of.warningsOf(view, id, override)
  return ok({ ...override, ...of.alsoOf?.(view, id), ...mark, warnings, ends }, etag(override.version))
}

async function takeAway<S extends Pick<UserOverride, 'reason' | 'expiresAt'>, R extends { readonly version: number }>(
  desk: Desk,
  of: Overridden<S, R>,
  call: Call,
  id: string,
): Promise<AdminResponse> {
  let found = true
  return desk.change(call, {
    versionOf: (state) => versionIn(of, state, id),
    changeOf(state) {
      found = of.storedIn(state).has(id)
      return found ? of.changeTo(id, null) : null
    },
    response: (entry) => (found ? ok({ ends: endsOf(entry) } satisfies TakenAwayResponse) : noOverride(of)),
  })
}
