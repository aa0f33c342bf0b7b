import type { AuditResponse, UnfollowedResponse } from '../contract/api.ts'
import { type AuditEntry, type Author, type Change, subjectOf, type Vain } from '../control/control-store.ts'
import { authorWithout } from '../control/forgetting.ts'
import type { GivenGrant } from '../control/state.ts'
import { whyUnfollowed } from '../control/unfollowed.ts'
import { isObject } from '../lib/json.ts'
import { iso, isoOrNull } from './http.ts'
import { withLayersShown } from './layers-shown.ts'

/** An entry of the audit as administrators and the log show it. */
export function entryResponse({ vain, ...entry }: AuditEntry): AuditResponse['entries'][number] {
  const { at, from, to } = entry
  return { ...entry, at: iso(at), from: shown(from), to: shown(to), ...(vain !== undefined && vainShown(vain)) }
}

function vainShown({ unfollowed, movesNobody }: Vain) {
  const values = unfollowed.map((each): UnfollowedResponse => ({ ...each, why: whyUnfollowed(each) }))
  return { ...(values.length > 0 && { unfollowed: values }), ...(movesNobody && { movesNobody: true as const }) }
}

/** The facts about a change whose outcome is unknown. */
export function wishResponse(change: Change, author: Author) {
  const { who, why } = change.kind === 'user_forgotten' ? authorWithout(author, change) : author
  return { who, what: change.kind, subject: subjectOf(change), to: shown(wished(change)), why }
}

function wished(change: Change): unknown {
  if (change.kind === 'quota_reset') return Object.fromEntries(change.windows.map(({ name }) => [name, 0]))
  return 'to' in change ? change.to : null
}

/** A value from before or after a change. The end of an override is stored in milliseconds, but shown like every other time. */
export function shown(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if ('overrides' in value && isObject(value.overrides)) {
    const { organisations } = value as { readonly organisations?: unknown }
    const ofOrganisations = isObject(organisations) && { organisations: shownEach(organisations) }
    return { ...value, overrides: shownEach(value.overrides), ...ofOrganisations }
  }
  // The key replaces another access key.
  if ('replaces' in value) {
    const { replaces, ...rest } = value
    return { ...(shown(rest) as object), replaces: shown(replaces) }
  }
  if ('givenAt' in value) return grantShown(value as GivenGrant)
  const layered = withLayersShown(value)
  if (!('expiresAt' in layered)) return layered
  const { expiresAt } = layered
  return typeof expiresAt === 'number' ? { ...layered, expiresAt: iso(expiresAt) } : layered
}

function grantShown({ givenAt, until, endedAt, ...grant }: GivenGrant) {
  return { ...grant, givenAt: iso(givenAt), until: iso(until), endedAt: isoOrNull(endedAt) }
}

function shownEach(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([user, value]) => [user, shown(value)]))
}
