import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { PersonForgottenResponse } from '../../contract/api.ts'
import { forgettingOf, nothingKeptOf } from '../../control/forgetting.ts'
import { oneAtATime } from '../../lib/serialize.ts'
import { attachment } from '../attachment.ts'
import type { Desk } from '../desk.ts'
import { type AdminResponse, ok, type Route, refusal } from '../http.ts'
import { isKept, type PersonOptions, personOf } from '../person.ts'
import { type CallOf, route } from '../route.ts'
import { withUser } from '../with-id.ts'

const FORGET =
  'must be 1: whatever is kept of the user goes, and nobody can put it back. DELETE /api/users/{id}/override takes away limits alone'

const Forgetting = z.strictObject({
  forget: z
    .literal('1', { error: FORGET })
    .describe('Must be 1, which confirms that everything about the user should be forgotten'),
  words: z
    .literal('1', { error: 'must be 1, or be left out' })
    .optional()
    .describe(
      'With 1, the user is also forgotten if the store has nothing but the id as a word in reasons. The word is then replaced',
    ),
})

/** The routes of what is kept of a person. One search at a time goes through the store. */
export function personRoutes(desk: Desk): Route[] {
  const inTurn = oneAtATime()
  return [
    route('GET', '/api/users/:id/export', {
      summary: 'All that is kept of one user',
      responses: { 200: schemas.personExport },
      handle: (call) => withUser(call, (user) => inTurn(() => show(desk, user))),
    }),
    route('DELETE', '/api/users/:id', {
      summary: 'Forgets one user, so that nothing in the store names the user any more',
      more: 'In the audit an alias replaces the name. If nothing is stored about the user, the request gets 404, because a misspelt id could be a word in a reason that is about somebody else.',
      query: Forgetting,
      reads: schemas.optionalReason,
      responses: { 200: schemas.personForgotten },
      errors: ['not_found'],
      handle: (call) => withUser(call, (user) => inTurn(() => forget(desk, call, user))),
    }),
  ]
}

/** The options of `personOf` and `isKept` (person.ts). @throws StoreError */
export async function personOptions(desk: Desk): Promise<PersonOptions> {
  const { state, policy } = await desk.view()
  return { store: desk.store, state, policy, alerts: desk.setup().alerts.map(({ name }) => name) }
}

async function show(desk: Desk, user: string): Promise<AdminResponse> {
  const person = await personOf(user, await personOptions(desk))
  return ok(person, attachment(user, 'json'))
}

async function forget(desk: Desk, call: CallOf<z.infer<typeof Forgetting>>, user: string): Promise<AdminResponse> {
  if (call.query.words === undefined && !(await isKept(user, await personOptions(desk)))) {
    const cure = 'Check the id, or add words=1 to take it out of reasons where it stands as a word'
    return refusal('not_found', `${nothingKeptOf(user)} ${cure}, which nobody can undo.`)
  }
  const forgetting = forgettingOf(user)
  return desk.record(call, forgetting, ({ version }) => {
    const response: PersonForgottenResponse = { alias: forgetting.alias, version }
    return ok(response)
  })
}
