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

/** What differs between overrides of users and of organisations. `Stored` is the stored form of an override, and `Shown` the form of the API. */
interface Overridden<Stored extends OrganisationOverride, Shown extends { readonly version: number }> {
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
export const overrideRoutes = (desk: Desk): Route[] => new OverrideRoutes(desk, USERS).all()

/** The routes of overrides of one organisation. */
export const organisationOverrideRoutes = (desk: Desk): Route[] => new OverrideRoutes(desk, ORGANISATIONS).all()

class OverrideRoutes<S extends OrganisationOverride, R extends { readonly version: number }> {
  readonly #desk: Desk
  readonly #of: Overridden<S, R>
  readonly #none: AdminResponse

  constructor(desk: Desk, of: Overridden<S, R>) {
    this.#desk = desk
    this.#of = of
    this.#none = refusal('not_found', `Nothing was set for ${of.one.replace(/^an? /, 'this ')}.`)
  }

  all(): Route[] {
    const { path, one, withId, schemas: of } = this.#of
    return [
      route('GET', path, {
        summary: `The override of ${one}`,
        hasVersion: true,
        responses: { 200: of.shown },
        errors: ['not_found'],
        handle: (call) => withId(call, (id) => this.#show(id, ledByCaller(call))),
      }),
      route('PUT', path, {
        summary: `Sets the override of ${one}, which replaces the one that was set before`,
        more: 'A field that the body leaves out, or sets to null, gets its default.',
        body: of.body,
        ifMatch: true,
        hasVersion: true,
        responses: { 200: of.set },
        errors: ['version_conflict', 'conflict'],
        handle: (call) => withId(call, (id) => this.#set(call, id)),
      }),
      route('DELETE', path, {
        summary: `Removes the override of ${one}`,
        reads: schemas.optionalReason,
        ifMatch: true,
        responses: { 200: schemas.takenAway },
        errors: ['not_found', 'version_conflict', 'conflict'],
        handle: (call) => withId(call, (id) => this.#takeAway(call, id)),
      }),
    ]
  }

  async #show(id: string, lead: string | null): Promise<AdminResponse> {
    const { control } = this.#desk
    const override = this.#of.shownIn(await control.fresh(), id, control.storeTime(), lead)
    return override === null ? this.#none : ok(override, etag(override.version))
  }

  async #set(call: Call, id: string): Promise<AdminResponse> {
    const { store, control, setup } = this.#desk
    const { at } = await store.controlVersion()
    const read = this.#of.read(call.body, setup().quota, at)
    if ('problems' in read) return badFields(read.problems)
    const net = readFields(this.#of.schemas.body, call.body)
    if ('problems' in net) return badFields(net.problems)
    const who = authorName(call.identity)
    const storedIn = (state: ControlState) => this.#of.storedIn(storedOf(state)).get(id)?.value ?? null
    if (hasTooMany(withOverride(storedIn(await control.fresh()), read.override, who, at))) return badFields([TOO_MANY])
    return this.#desk.change(call, {
      versionOf: (state) => this.#versionIn(state, id),
      changeOf: (state) => {
        const before = storedIn(state)
        const to = withOverride(before, read.override, who, at)
        return sameJson(before, to) ? null : this.#of.changeTo(id, to)
      },
      response: (entry) => this.#showSet(id, entry),
    })
  }

  /** The version of what is in force. An override that is over counts as none. */
  #versionIn(state: ControlState, id: string): number | null {
    return this.#of.storedIn(state).get(id)?.version ?? null
  }

  /** The override, with hints for the administrator who has set it. */
  async #showSet(id: string, entry: AuditEntry | undefined): Promise<AdminResponse> {
    const { whose, shownIn, warningsOf, alsoOf } = this.#of
    const [view, mark] = await Promise.all([this.#desk.view(), unseenMark(this.#desk.store, whose(id))])
    const override = shownIn(view.state, id, view.at)
    if (override === null) return this.#none
    const hints = { warnings: warningsOf(view, id, override), ends: endsOf(entry) }
    return ok({ ...override, ...alsoOf?.(view, id), ...mark, ...hints }, etag(override.version))
  }

  async #takeAway(call: Call, id: string): Promise<AdminResponse> {
    let found = true
    return this.#desk.change(call, {
      versionOf: (state) => this.#versionIn(state, id),
      changeOf: (state) => {
        found = this.#of.storedIn(state).has(id)
        return found ? this.#of.changeTo(id, null) : null
      },
      response: (entry) => (found ? ok({ ends: endsOf(entry) } satisfies TakenAwayResponse) : this.#none),
    })
  }
}
