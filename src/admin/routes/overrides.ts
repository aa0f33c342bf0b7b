import { isDeepStrictEqual } from 'node:util'
import { overrideFrom } from '../../control/overrides.ts'
import { tooDearFor } from '../../control/too-dear.ts'
import type { OverrideSetResponse } from '../api.ts'
import { type Desk, etag } from '../desk.ts'
import { readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, NO_CONTENT, ok, type Route, refusal } from '../http.ts'
import { overrideOf } from '../override.ts'
import * as schemas from '../schemas.ts'
import { withUser } from '../with-user.ts'

/** The routes of what is set for one user. */
export function overrideRoutes(desk: Desk): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/users/:id/override',
      guard: 'read',
      doc: { summary: 'What was set for a user', responses: { 200: schemas.override }, errors: ['not_found'] },
      handle: (call) => withUser(call, (user) => showOverride(desk, user)),
    },
    {
      method: 'PUT',
      path: '/api/users/:id/override',
      guard: 'change',
      doc: {
        summary: 'Sets limits for a user in the place of those that were set before',
        body: schemas.overrideBody,
        ifMatch: true,
        responses: { 200: schemas.overrideSet },
        errors: ['version_conflict', 'conflict'],
      },
      handle: (call) => withUser(call, (user) => setOverride(desk, call, user)),
    },
    {
      method: 'DELETE',
      path: '/api/users/:id/override',
      guard: 'change',
      doc: {
        summary: 'Takes away what was set for a user',
        body: schemas.optionalReason,
        ifMatch: true,
        responses: { 204: null },
        errors: ['not_found', 'version_conflict', 'conflict'],
      },
      handle: (call) => withUser(call, (user) => deleteOverride(desk, call, user)),
    },
  ]
}

async function showOverride({ control }: Desk, user: string): Promise<AdminResponse> {
  const override = overrideOf(await control.fresh(), user)
  return override === null ? NO_OVERRIDE : ok(override, etag(override.version))
}

const NO_OVERRIDE = refusal('not_found', 'Nothing was set for this user.')

async function setOverride(desk: Desk, call: Call, user: string): Promise<AdminResponse> {
  const { at } = await desk.store.controlVersion()
  const read = overrideFrom(call.body, desk.setup().quota, at)
  if ('problems' in read) return badFields(read.problems)
  const net = readFields(schemas.overrideBody, call.body)
  if ('problems' in net) return badFields(net.problems)
  return desk.change(call, {
    versionOf: ({ overrides }) => overrides.get(user)?.version ?? null,
    changeOf({ overrides }) {
      const isSet = isDeepStrictEqual(overrides.get(user)?.value, read.override)
      return isSet ? null : { kind: 'override', user, to: read.override }
    },
    response: () => showSet(desk, user),
  })
}

/** The override, with the warnings of it. */
async function showSet(desk: Desk, user: string): Promise<AdminResponse> {
  const { policy, setup, state } = await desk.view()
  const override = overrideOf(state, user)
  if (override === null) return NO_OVERRIDE
  const warnings = tooDearFor(policy, user, override, setup.priced)
  return ok({ ...override, warnings } satisfies OverrideSetResponse, etag(override.version))
}

async function deleteOverride(desk: Desk, call: Call, user: string): Promise<AdminResponse> {
  const fields = readFields(schemas.optionalReason, call.body)
  if ('problems' in fields) return badFields(fields.problems)
  let found = true
  return desk.change(call, {
    versionOf: ({ overrides }) => overrides.get(user)?.version ?? null,
    changeOf({ overrides }) {
      found = overrides.has(user)
      return found ? { kind: 'override', user, to: null } : null
    },
    response: () => (found ? NO_CONTENT : NO_OVERRIDE),
  })
}
