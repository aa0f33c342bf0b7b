import { isUserId, USER_ID } from '../control/user-id.ts'
import { type AdminResponse, badFields, type Call } from './http.ts'

type WithId = (call: Call, handle: (id: string) => AdminResponse | Promise<AdminResponse>) => Promise<AdminResponse>

/** For a route with a user id in its path. */
export const withUser: WithId = withId('a user id')
/** For a route with the id of an organisation in its path. */
export const withOrganisation: WithId = withId('an organisation')

function withId(what: string): WithId {
  const msg = `must be ${what} in UTF-8, percent-encoded: ${USER_ID}`
  return async ({ params: { id } }, handle) => (isUserId(id) ? handle(id) : badFields([{ path: 'id', msg }]))
}
