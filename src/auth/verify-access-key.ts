import { looksLikeAccessKey } from '../control/access-key-record.ts'
import type { AccessKey, AccessKeys } from '../control/held-access-keys.ts'
import { isUserId } from '../control/user-id.ts'
import type { Denial } from '../errors.ts'
import { StoreError } from '../quota/quota-store.ts'
import { callerOf, invalid, unknowable, type Verified } from './verdict.ts'

/** Whether a credential has the form of an access key. */
export const isAccessKey = looksLikeAccessKey

/**
 * Verifies an access key by looking its hash up, so there is no comparison of secrets that could be timed. Returns at once if the key
 * is known.
 * @param now milliseconds since the epoch
 */
export function verifyAccessKey(
  tokens: Pick<AccessKeys, 'find'>,
  token: string,
  now: number,
): Verified | Denial | Promise<Verified | Denial> {
  const found = tokens.find(token)
  return found instanceof Promise ? found.then((key) => judge(key, now), unknown) : judge(found, now)
}

function unknown(error: unknown): Denial {
  if (error instanceof StoreError) return unknowable('store_unavailable', `access keys: ${error.reason}`, 1)
  throw error
}

function judge(key: AccessKey | null, now: number): Verified | Denial {
  if (key === null) return invalid('unknown access key')
  if (key.revokedAt !== null) return invalid('revoked access key', 'The access key has been revoked.')
  const until = key.expiresAt ?? Number.POSITIVE_INFINITY
  if (now >= until) return invalid('expired access key', 'The access key has expired.')
  if (!isUserId(key.user)) return invalid('the owner of the access key is no user id')
  const { plan = null, organisation = null } = key
  return { caller: { ...callerOf(key.user, 'gateway_token'), plan, organisation }, until }
}
