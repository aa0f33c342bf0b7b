import { cancelled, inOrder } from '../../control/pending.ts'
import type { Desk } from '../desk.ts'
import { readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, NO_CONTENT, type Route, refusal } from '../http.ts'
import * as schemas from '../schemas.ts'

/** The route that cancels what is to be changed later. */
export function quotaScheduledRoute(desk: Desk): Route {
  return {
    method: 'DELETE',
    path: '/api/quota/scheduled/:id',
    guard: 'change',
    doc: {
      summary: 'Cancels a change that is scheduled, or the end of one, which then stays',
      body: schemas.optionalReason,
      ifMatch: true,
      responses: { 204: null },
      errors: ['not_found', 'version_conflict', 'conflict'],
    },
    handle: (call) => cancel(desk, call),
  }
}

async function cancel(desk: Desk, call: Call): Promise<AdminResponse> {
  const fields = readFields(schemas.optionalReason, call.body)
  if ('problems' in fields) return badFields(fields.problems)
  const id = call.params.id ?? ''
  let found = true
  return desk.change(call, {
    versionOf: ({ settings }) => settings.version,
    changeOf({ settings: { value } }) {
      found = inOrder(value.pending).some((one) => one.id === id)
      return found ? { kind: 'settings', to: cancelled(value, id) } : null
    },
    response: () => (found ? NO_CONTENT : NOT_SCHEDULED),
  })
}

const NOT_SCHEDULED = refusal(
  'not_found',
  'Nothing of this id is scheduled: GET /api/quota lists under `scheduled` what is.',
)
