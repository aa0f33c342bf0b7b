import { hash } from 'node:crypto'
import { isObject } from '../lib/json.ts'
import { everyStep } from '../lib/steps.ts'
import { StoreError } from '../quota/quota-store.ts'
import { isImported } from './access-key-record.ts'
import { type AccessKeyRecord, type AccessKeyStore, endOfToken, KEEP_ENDED_MS } from './access-key-store.ts'
import { AccessKeyUses } from './access-key-uses.ts'
import type { ChangeFollower } from './change-follower.ts'
import type { AuditEntry } from './control-store.ts'

/** The facts about an access key that are known without asking the store. */
export type AccessKey = Pick<AccessKeyRecord, 'user' | 'plan' | 'organisation' | 'expiresAt' | 'revokedAt'>

/**
 * All access keys of the store by their hashes. Made-up keys never reach the store, however many are sent.
 *
 * A revocation is noticed within 1.2 seconds, or no access key is accepted: older knowledge is confirmed first, by one question for all
 * who need it. A store that does not respond is a StoreError.
 */
export interface AccessKeys {
  /**
   * `null` for a key that does not exist. A known key is returned at once, unless the knowledge is too old. For any other key the store is
   * asked for changes, for all callers together and at most ten times a second.
   * @throws StoreError by the promise, if the store does not respond
   */
  find(token: string): AccessKey | null | Promise<AccessKey | null>
  /** Whether a credential of any form is a known key from another system. The store is not asked. */
  isImported(credential: string): boolean
}

export interface HeldAccessKeys extends AccessKeys {
  /** Removes keys that ended 30 days ago, here and in the store. Never rejects, because the next call repeats what failed. */
  removeEnded(): Promise<void>
  /** Reports to the store the uses that it does not know yet. Never rejects. */
  close(): Promise<void>
}

export interface AccessKeysOptions {
  readonly store: Pick<AccessKeyStore, 'readTokens' | 'findTokens' | 'removeTokens' | 'noteUses'>
  readonly control: Pick<ChangeFollower, 'fresh' | 'accompany' | 'storeTime'>
  /** Whether access keys are accepted now. Otherwise none are held. */
  readonly wanted: () => boolean
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly now?: () => number
}

/** How old the held keys may be, in milliseconds. The authenticator adds 250 ms, and a tunnel 400 ms, so a revocation takes less than 2 s. */
const FRESH_MS = 1200
/** The shortest time between two questions that unknown keys cause. */
const PAUSE_MS = 100
/** How many unknown keys may wait for the next question. Others are refused at once, because anybody can make up keys. */
const MAX_WAITING = 100

export function createAccessKeys({
  store,
  control,
  wanted,
  now = () => performance.now(),
}: AccessKeysOptions): HeldAccessKeys {
  let held = new Held()
  let isWhole = false
  /** When the store was last asked for the keys that are held now. */
  let confirmedAt = Number.NEGATIVE_INFINITY
  /** Ids of keys that were changed but not read since then, because the store may have failed in between. */
  const changed = new Set<string>()
  let next: Promise<void> | null = null
  let lookedAt = Number.NEGATIVE_INFINITY
  let waiting = 0
  const storeTime = (): number => control.storeTime()
  const uses = new AccessKeyUses({ store, storeTime, now })
  control.accompany(follow)

  /** @param entries the changes since the last call; `null` if everything must be read */
  async function follow(entries: readonly AuditEntry[] | null, askedAt: number): Promise<void> {
    if (!wanted()) {
      isWhole = false
      held = new Held()
      return
    }
    if (entries === null) isWhole = false
    else entries.forEach(note)
    if (isWhole) await readChanged()
    else await readAll()
    confirmedAt = askedAt
  }

  async function readAll(): Promise<void> {
    const all = new Held()
    const steps = everyStep((from: string | null) => store.readTokens(from))
    for await (const { records } of steps) for (const record of records) all.put(record)
    held = all
    isWhole = true
    changed.clear()
  }

  function note(entry: AuditEntry): void {
    // The entry does not say whose access keys are gone.
    if (entry.what === 'user_forgotten') isWhole = false
    for (const id of changedBy(entry)) changed.add(id)
  }

  /** A record is written together with its entry in the audit, so it exists. */
  async function readChanged(): Promise<void> {
    if (changed.size === 0) return
    for (const { hash, record } of await store.findTokens([...changed])) {
      if (record === null) held.delete(packed(hash))
      else held.put(record)
    }
    changed.clear()
  }

  function find(token: string): AccessKey | null | Promise<AccessKey | null> {
    const digest = hash('sha256', token, 'latin1')
    const isFresh = now() - confirmedAt < FRESH_MS
    const key = held.keys.get(digest) ?? null
    if (isFresh && (key !== null || waiting >= MAX_WAITING)) return found(digest, key)
    return findLater(digest, key)
  }

  function found(digest: string, key: AccessKey | null): AccessKey | null {
    if (key !== null && endOfToken(key) > storeTime()) uses.note(digest)
    return key
  }

  async function findLater(digest: string, known: AccessKey | null): Promise<AccessKey | null> {
    if (known === null && waiting >= MAX_WAITING) throw new StoreError('too many wait for it', 'timeout', 'no')
    if (known === null) waiting++
    try {
      next ??= look()
      await next
    } finally {
      if (known === null) waiting--
    }
    return found(digest, held.keys.get(digest) ?? null)
  }

  /** A caller who comes after this question has been sent waits for the next one. */
  async function look(): Promise<void> {
    await sleep(lookedAt + PAUSE_MS - now())
    next = null
    lookedAt = now()
    await control.fresh()
  }

  async function removeEnded(): Promise<void> {
    const endedBefore = control.storeTime() - KEEP_ENDED_MS
    for (const [digest, key] of held.keys) if (endOfToken(key) < endedBefore) held.delete(digest)
    await store.removeTokens(endedBefore).catch(() => {})
  }

  return { find, isImported: (credential) => held.isImported(credential), removeEnded, close: () => uses.close() }
}

/** Access keys by their hashes. */
class Held {
  readonly keys = new Map<string, AccessKey>()
  /** Hashes of keys from another system. */
  readonly #imported = new Set<string>()

  put(record: AccessKeyRecord): void {
    const digest = packed(record.hash)
    this.keys.set(digest, keyOf(record))
    if (isImported(record)) this.#imported.add(digest)
  }

  delete(digest: string): void {
    this.keys.delete(digest)
    this.#imported.delete(digest)
  }

  /** If the store has no keys from another system, no credential is hashed for this. */
  isImported(credential: string): boolean {
    return this.#imported.size > 0 && this.#imported.has(hash('sha256', credential, 'latin1'))
  }
}

/** The ids of access keys that an entry of the audit has changed. */
function changedBy({ what, subject, to }: AuditEntry): string[] {
  const own = subject !== null && (what === 'token_created' || what === 'token_revoked') ? [subject] : []
  if (!isObject(to)) return own
  if (what === 'token_created') return [...own, ...idsIn([to.replaces])]
  return what === 'tokens_revoked' || what === 'tokens_imported' ? idsIn(to.tokens) : own
}

/** The ids of access keys in an entry of the audit. */
function idsIn(keys: unknown): string[] {
  const list: readonly unknown[] = Array.isArray(keys) ? keys : []
  return list.flatMap((key) => (isObject(key) && typeof key.id === 'string' ? [key.id] : []))
}

/** One character for each byte, which is half as long as hexadecimal. */
function packed(hash: string): string {
  return Buffer.from(hash, 'hex').toString('latin1')
}

function keyOf({ user, plan, organisation, expiresAt, revokedAt }: AccessKeyRecord): AccessKey {
  const facts = { ...(plan !== undefined && { plan }), ...(organisation !== undefined && { organisation }) }
  return { user, ...facts, expiresAt, revokedAt }
}

function sleep(ms: number): Promise<void> | null {
  return ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : null
}
