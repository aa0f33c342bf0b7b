import type { TokenResponse } from '../../contract/api.ts'
import type { Fields } from './location.ts'

/** Access keys that are looked for, as the address has it. Pure. */

export const KEY_STATES = ['valid', 'expired', 'revoked'] as const
export type KeyState = (typeof KEY_STATES)[number]

/** @param now milliseconds since the epoch. An expired key that was revoked is revoked. */
export function stateOfKey({ revokedAt, expiresAt }: TokenResponse, now: number): KeyState {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'valid'
}

export interface KeyWish {
  /** Part of the user or of the name of the key, as it was typed. */
  readonly query: string
  /** Empty for any. */
  readonly state: KeyState | ''
}

export function keyWishOf({ query = '', state }: Fields): KeyWish {
  return { query, state: KEY_STATES.find((known) => known === state) ?? '' }
}

/** In the order in which they came. @param now milliseconds since the epoch */
export function foundKeys(
  keys: readonly TokenResponse[],
  { query, state }: KeyWish,
  now: number,
): readonly TokenResponse[] {
  const part = query.trim().toLowerCase()
  return keys.filter(
    (key) =>
      (`${key.user}\n${key.name}`.toLowerCase().includes(part) || key.id.startsWith(part)) &&
      (state === '' || stateOfKey(key, now) === state),
  )
}
