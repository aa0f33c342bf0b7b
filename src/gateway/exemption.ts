import type { Asking } from '../auth/asking.ts'
import type { Caller } from '../auth/authenticator.ts'
import { wholeAddressOf } from './client-address.ts'
import type { Rules } from './snapshot.ts'

/** What exempts a caller: the user id, or the client's address. */
export type Exemption = 'user' | 'address'

/** Why nothing is charged to a caller (`quota.exempt`); `null` if something is. */
export function exemptionOf(
  { exempt, isProxy }: Pick<Rules, 'exempt' | 'isProxy'>,
  { req, client }: Pick<Asking, 'req' | 'client'>,
  { user }: Pick<Caller, 'user'>,
): Exemption | null {
  if (exempt === null) return null
  if (exempt.users.has(user)) return 'user'
  return exempt.hasAddress(wholeAddressOf(client, req.headers, isProxy)) ? 'address' : null
}
