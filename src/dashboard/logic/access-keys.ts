import type { TokenResponse } from '../../contract/api.ts'
import { DAY_MS } from './half-hour.ts'
import type { Fields } from './location.ts'

/** Searches access keys by the fields of the address. Pure. */

export type KeyState = TokenResponse['state']
export const KEY_STATES = ['valid', 'expired', 'revoked'] as const satisfies KeyState[]

/** The offered numbers of days for which a key was not used. */
export const UNUSED_DAYS = ['7', '30', '90'] as const

export interface KeyWish {
  /** A part of the user or of the key's name, or the beginning of the key's id, as typed. */
  readonly query: string
  /** Empty for any. */
  readonly state: KeyState | ''
  /** For how many days the key was neither used nor made; empty for any. */
  readonly unused: (typeof UNUSED_DAYS)[number] | ''
}

export function keyWishOf({ query = '', state, unused }: Fields): KeyWish {
  return {
    query,
    state: KEY_STATES.find((known) => known === state) ?? '',
    unused: UNUSED_DAYS.find((known) => known === unused) ?? '',
  }
}

/** The keys that match, in their original order. @param now milliseconds since the epoch */
export function foundKeys(
  keys: readonly TokenResponse[],
  { query, state, unused }: KeyWish,
  now: number,
): readonly TokenResponse[] {
  const part = query.trim().toLowerCase()
  return keys.filter(
    (key) =>
      (`${key.user}\n${key.name}`.toLowerCase().includes(part) || key.id.startsWith(part)) &&
      (state === '' || key.state === state) &&
      (unused === '' || Date.parse(key.lastUsedAt ?? key.createdAt) <= now - Number(unused) * DAY_MS),
  )
}
