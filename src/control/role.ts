import { isUserId } from './user-id.ts'

/** What an administrator may do: everything, read everything, or lead one organisation (`lead:acme`). */
export type Role = 'admin' | 'viewer' | `${typeof LEAD}${string}`

const LEAD = 'lead:'

/** `null` if the text is no role. */
export function roleOf(text: string): Role | null {
  if (text === 'admin' || text === 'viewer') return text
  return text.startsWith(LEAD) && isUserId(text.slice(LEAD.length)) ? (text as Role) : null
}

/** The organisation that the role leads; `null` for none. */
export function ledBy(role: Role): string | null {
  return role.startsWith(LEAD) ? role.slice(LEAD.length) : null
}
