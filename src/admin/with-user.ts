import { isUserId, USER_ID } from '../control/user-id.ts'
import { type AdminResponse, badFields, type Call } from './http.ts'

const USER = `must be a user id in UTF-8, percent-encoded: ${USER_ID}`

/** For a route with the id of a user in its path. */
export async function withUser(
  { params: { id } }: Call,
  handle: (user: string) => AdminResponse | Promise<AdminResponse>,
): Promise<AdminResponse> {
  return isUserId(id) ? handle(id) : badFields([{ path: 'id', msg: USER }])
}
