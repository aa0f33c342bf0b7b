import { isUserId } from './user-id.ts'

/** What an administrator may do: everything, look at everything, or lead one organisation, `lead:acme`. */
export type Role = 'admin' | 'viewer' | `${typeof LEAD}${string}`

const LEAD = 'lead:'

/** `null` for a text that is no role. */
export function roleOf(text: string): Role | null {
  if (text === 'admin' || text === 'viewer') return text
  return text.startsWith(LEAD) && isUserId(text.slice(LEAD.length)) ? (text as Role) : null
}

/** The organisation that somebody of the role leads; `null` for none. */
export function ledBy(role: Role): string | null {
  return role.startsWith(LEAD) ? role.slice(LEAD.length) : null
}
