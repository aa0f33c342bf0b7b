import * as schemas from '../../contract/admin.ts'
import type { TakenAwayResponse } from '../../contract/api.ts'
import { SETTINGS } from '../../control/forms.ts'
import { isOver, kept, packedOf, removed, type Stack, stackOf } from '../../control/layers.ts'
import { type Changes, type Packed, storedOf } from '../../control/state.ts'
import type { Desk } from '../desk.ts'
import { type AdminResponse, type Call, ok, type Route, refusal } from '../http.ts'
import { endsOf } from '../layers-shown.ts'
import { route } from '../route.ts'

/** The route that cancels a scheduled change. */
export function quotaScheduledRoute(desk: Desk): Route {
  return route('DELETE', '/api/quota/scheduled/:id', {
    summary:
      'Cancels a scheduled change. If the change is in force already, only its end and its guard are removed, so it becomes permanent',
    reads: schemas.optionalReason,
    ifMatch: true,
    responses: { 200: schemas.takenAway },
    errors: ['not_found', 'version_conflict', 'conflict'],
    handle: (call) => cancel(desk, call),
  })
}

async function cancel(desk: Desk, call: Call): Promise<AdminResponse> {
  const id = call.params.id ?? ''
  const { at } = await desk.store.controlVersion()
  let found = true
  return desk.change(call, {
    versionOf: ({ settings }) => settings.version,
    changeOf(state) {
      const after = cancelled(stackOf(SETTINGS, storedOf(state).settings.value), id, at)
      found = after !== null
      return after === null ? null : { kind: 'settings', to: (packedOf(SETTINGS, after) ?? {}) as Packed<Changes> }
    },
    response: (entry) => (found ? ok({ ends: endsOf(entry) } satisfies TakenAwayResponse) : NOT_SCHEDULED),
  })
}

/** `null` if there is no such layer. */
function cancelled(stack: Stack, id: string, at: number): Stack | null {
  const layer = stack.layers.find((one) => one.id === id && !isOver(one, at))
  if (layer === undefined) return null
  if (layer.from > at) return removed(stack, id)
  return kept(stack, id, layer.until === null ? 'guard' : 'until', at)
}

const NOT_SCHEDULED = refusal(
  'not_found',
  'Nothing of this id is scheduled: GET /api/quota lists under `layers` what is.',
)
