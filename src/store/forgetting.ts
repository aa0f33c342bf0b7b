import type { AuditEntry, Forgetting } from '../control/control-store.ts'
import { entryWithout, valueWithout } from '../control/forgetting.ts'
import { isObject } from '../lib/json.ts'

type Json = Readonly<Record<string, unknown>>

const unlessOwn = (record: Json, { user }: Forgetting): Json | null => (record.user === user ? null : record)

/** What is left of a record when a user is forgotten, for each list. `null` means that the record is deleted. */
const LEFT = {
  tokens: unlessOwn,
  refusals: unlessOwn,
  events: (happening: Json, { user }: Forgetting) =>
    happening.scope === 'personal' && happening.subject === user ? null : happening,
  grants: (grant: Json, forgetting: Forgetting) => unlessOwn(grant, forgetting) && valueWithout(grant, forgetting),
  overrides: valueWithout<Json>,
  organisationOverrides: valueWithout<Json>,
  settings: valueWithout<Json>,
  audit: (entry: Json, forgetting: Forgetting) => entryWithout(entry as unknown as AuditEntry, forgetting),
} as const

/** The lists of both stores whose records may name a user. */
export type NamingList = keyof typeof LEFT

/**
 * What is left of a record when a user is forgotten: the same text if it does not name the user, and `null` if the record is deleted. A
 * text that is no JSON object is ignored, and expires or is repaired by hand.
 * @param text JSON
 */
export function textLeft(list: NamingList, id: string, text: string, forgetting: Forgetting): string | null {
  if (list === 'overrides' && id === forgetting.user) return null
  const record = objectIn(text)
  if (record === null) return text
  const left = LEFT[list](record, forgetting)
  const next = left && JSON.stringify(left)
  return next === JSON.stringify(record) ? text : next
}

/** `null` if the text is no JSON object. */
export function objectIn(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? (value as Json) : null
  } catch {
    return null
  }
}
