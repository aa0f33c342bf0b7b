import type { AccessKeyRecord, FoundAccessKey } from './access-key-store.ts'
import type { AccessKeyChange } from './control-store.ts'

export function isRevoked({ record }: FoundAccessKey): boolean {
  return record !== null && record.revokedAt !== null
}

/** The change that makes an access key known. */
export function creationOf(record: AccessKeyRecord): AccessKeyChange {
  const { user, name, plan, organisation, expiresAt } = record
  const facts = { ...(plan !== undefined && { plan }), ...(organisation !== undefined && { organisation }) }
  return { kind: 'token_created', record, to: { user, name, ...facts, expiresAt } }
}

/** The change that revokes an access key. If its record cannot be read, a readable one without a user takes its place. */
export function revocationOf({ id, hash, record }: FoundAccessKey, now: number): AccessKeyChange {
  const known = record ?? { id, hash, user: '', name: '', createdAt: now, expiresAt: null }
  const { user, name } = known
  return { kind: 'token_revoked', record: { ...known, revokedAt: now }, to: { user, name } }
}
