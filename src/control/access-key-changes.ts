import type { AccessKeyRecord, FoundAccessKey } from './access-key-store.ts'
import {
  type AccessKeyChange,
  type AccessKeyOpened,
  type AccessKeysImported,
  type AccessKeysRevoked,
  MOST_REVOKED,
} from './control-store.ts'

export function isRevoked({ record }: FoundAccessKey): boolean {
  return record !== null && record.revokedAt !== null
}

export type AccessKeyCreation = AccessKeyChange & { readonly to: object }

/** The change that makes an access key known. */
export function creationOf(record: AccessKeyRecord): AccessKeyCreation {
  const { user, name, plan, organisation, expiresAt } = record
  const facts = { ...(plan !== undefined && { plan }), ...(organisation !== undefined && { organisation }) }
  return { kind: 'token_created', record, to: { user, name, ...facts, expiresAt } }
}

/**
 * The change that creates an access key in place of another one. The old key stays valid until `endsAt` (milliseconds since the epoch), or
 * until its own end if that is earlier.
 */
export function rotationOf(record: AccessKeyRecord, old: AccessKeyRecord, endsAt: number): AccessKeyCreation {
  const replaced = { ...old, expiresAt: Math.min(old.expiresAt ?? endsAt, endsAt) }
  const creation = creationOf(record)
  return { ...creation, replaced, to: { ...creation.to, replaces: { id: old.id, expiresAt: replaced.expiresAt } } }
}

/** The change that revokes an access key. If its record cannot be read, a readable record without a user replaces it. */
export function revocationOf({ id, hash, record }: FoundAccessKey, now: number): AccessKeyChange {
  const known = record ?? { id, hash, user: '', name: '', createdAt: now, expiresAt: null }
  const { user, name } = known
  return { kind: 'token_revoked', record: { ...known, revokedAt: now }, to: { user, name } }
}

/**
 * The changes that revoke all access keys of a user that are not revoked yet, one for each MOST_REVOKED of them, so usually one.
 * @param all access keys of all users
 */
export function revocationsOf(user: string, all: readonly AccessKeyRecord[], now: number): AccessKeysRevoked[] {
  const theirs = all.filter((record) => record.user === user && record.revokedAt === null)
  return Array.from({ length: Math.ceil(theirs.length / MOST_REVOKED) }, (_, i) => {
    const some = theirs.slice(i * MOST_REVOKED, (i + 1) * MOST_REVOKED)
    const records = some.map((record) => ({ ...record, revokedAt: now }))
    return { kind: 'tokens_revoked', user, records, to: { user, tokens: some.map(({ id, name }) => ({ id, name })) } }
  })
}

/** The entry of the audit for an access key whose link was opened. */
export function openingOf({ id, user, name }: AccessKeyRecord): AccessKeyOpened {
  return { kind: 'token_opened', id, records: [], to: { user, name } }
}

/** The changes that take over access keys, one for each MOST_REVOKED of them. */
export function importsOf(records: readonly AccessKeyRecord[]): AccessKeysImported[] {
  return Array.from({ length: Math.ceil(records.length / MOST_REVOKED) }, (_, i) => {
    const some = records.slice(i * MOST_REVOKED, (i + 1) * MOST_REVOKED)
    return {
      kind: 'tokens_imported',
      records: some,
      to: { tokens: some.map(({ id, user, name }) => ({ id, user, name })) },
    }
  })
}
