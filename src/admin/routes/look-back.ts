import { lookBack } from '../../control/look-back.ts'
import { asOverrides } from '../../control/overrides.ts'
import { applyPatch, type QuotaPatchLike, resolve } from '../../control/settings.ts'
import type { ControlState } from '../../control/state.ts'
import { oneAtATime } from '../../lib/serialize.ts'
import { createPolicy } from '../../quota/policy.ts'
import type { LookBackResponse } from '../api.ts'
import type { Desk } from '../desk.ts'
import { type AdminResponse, badFields, type Call, type FieldProblem, iso, ok, type Route } from '../http.ts'
import * as schemas from '../schemas.ts'

const DAY_MS = 86_400_000

/** Reads the body of a change: that of PATCH /api/quota. */
export type ReadPatch = (
  desk: Desk,
  state: ControlState,
  body: unknown,
) => { readonly problems: readonly FieldProblem[] } | { readonly patch: QuotaPatchLike }

/** The route that holds a change against what users used in the last 24 hours. */
export function lookBackRoute(desk: Desk, readPatch: ReadPatch): Route {
  /** Each looks through the histories of all users. */
  const inTurn = oneAtATime()
  return {
    method: 'POST',
    path: '/api/quota/look-back',
    guard: 'read',
    doc: {
      summary: 'Who used more in the last 24 hours than a change would have allowed; changes nothing',
      body: schemas.quotaPatch,
      responses: { 200: schemas.lookBack },
    },
    handle: (call) => inTurn(() => show(desk, readPatch, call)),
  }
}

async function show(desk: Desk, readPatch: ReadPatch, { body, signal }: Call): Promise<AdminResponse> {
  const { setup, state, adaptive } = await desk.view()
  const read = readPatch(desk, state, body)
  if ('problems' in read) return badFields([...read.problems])
  const next = resolve(setup.quota, applyPatch(state.settings.value, read.patch))
  const { from, to, scanned, rows } = await lookBack({
    store: desk.store,
    payersOf: (users) => desk.payersOf(users),
    next: () => createPolicy(next.settings, adaptive.factor, asOverrides(state)),
    exempt: setup.exempt,
    spanMs: DAY_MS,
    signal,
  })
  const { longestSeconds, shorterSeconds } = setup.usage.kept
  const isComplete = Math.min(longestSeconds, shorterSeconds) * 1000 >= DAY_MS
  const response: LookBackResponse = { from: iso(from), to: iso(to), complete: isComplete, scanned, rows: [...rows] }
  return ok(response)
}
