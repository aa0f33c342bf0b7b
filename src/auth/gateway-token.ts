import { hashToken, looksLikeToken, type TokenRecord, type TokenStore } from '../control/tokens.ts'
import { isUserId } from '../control/user.ts'
import type { Denial } from '../errors.ts'
import { StoreError } from '../quota/store.ts'
import { invalid, unknowable, type Verified } from './caller.ts'

/** Whether a credential is to be judged as a gateway token. */
export const isGatewayToken = looksLikeToken

/**
 * Verifies a gateway token by its hash: the store finds it or not, so there is no comparison of secrets to be timed.
 * @param now milliseconds since the epoch
 */
export async function verifyGatewayToken(
  tokens: Pick<TokenStore, 'findToken'>,
  token: string,
  now: number,
): Promise<Verified | Denial> {
  try {
    return judge(await tokens.findToken(hashToken(token)), now)
  } catch (error) {
    if (error instanceof StoreError) return unknowable('store_unavailable', `token lookup failed: ${error.reason}`, 1)
    throw error
  }
}

function judge(record: TokenRecord | null, now: number): Verified | Denial {
  if (record === null) return invalid('unknown gateway token')
  if (record.revokedAt !== null) return invalid('revoked gateway token', 'The token has been revoked.')
  const until = record.expiresAt ?? Number.POSITIVE_INFINITY
  if (now >= until) return invalid('expired gateway token', 'The token has expired.')
  if (!isUserId(record.user)) return invalid('the owner of the gateway token is no user id')
  return { caller: { user: record.user, kind: 'gateway_token' }, until }
}
