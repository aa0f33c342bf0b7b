import { hash } from 'node:crypto'
import { isObject } from '../lib/json.ts'
import { StoreError } from '../quota/quota-store.ts'
import { isImported } from './access-key-record.ts'
import { type AccessKeyRecord, type AccessKeyStore, endOfToken, KEEP_ENDED_MS } from './access-key-store.ts'
import { AccessKeyUses } from './access-key-uses.ts'
import type { ChangeFollower } from './change-follower.ts'
import type { AuditEntry } from './control-store.ts'

/** What is known of an access key without asking the store. */
export type AccessKey = Pick<AccessKeyRecord, 'user' | 'plan' | 'organisation' | 'expiresAt' | 'revokedAt'>

/**
 * All access keys of the store, by their hashes. A token that nobody made so never reaches the store, however many are sent.
 *
 * A revocation is seen within 1.2 seconds, or nobody is let in by an access key: what was found out longer ago is asked for anew, all who
 * need it together, and a store that does not answer is a StoreError.
 */
export interface AccessKeys {
  /**
   * `null` for one that nobody made. Known at once for those that are held. For others the store is asked for what was changed, all of them
   * together and ten times a second at most.
   * @throws StoreError by the promise, if the store does not answer
   */
  find(token: string): AccessKey | null | Promise<AccessKey | null>
  /** Whether a credential of any shape is held as one that somebody else has made. The store is not asked. */
  isImported(credential: string): boolean
}

export interface HeldAccessKeys extends AccessKeys {
  /** Removes those that ended 30 days ago, here and in the store. Never rejects: the next call does what this one could not. */
  removeEnded(): Promise<void>
  /** Has the store know of uses that it does not know of yet. Never rejects. */
  close(): Promise<void>
}

export interface AccessKeysOptions {
  readonly store: Pick<AccessKeyStore, 'readTokens' | 'findTokens' | 'removeTokens' | 'noteUses'>
  readonly control: Pick<ChangeFollower, 'fresh' | 'accompany' | 'storeTime'>
  /** Whether access keys are accepted at this moment: else none are held. */
  readonly wanted: () => boolean
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly now?: () => number
}

/** How old what is held may be, in milliseconds. With the quarter of a second for which a token is remembered it is below 2 s, also for a tunnel. */
const FRESH_MS = 1200
/** Least time between two questions that unknown tokens bring about. */
const PAUSE_MS = 100
/** How many of them wait for the next one. The others are unknown at once: anybody can make tokens up. */
const MAX_WAITING = 100

export function createAccessKeys({
  store,
  control,
  wanted,
  now = () => performance.now(),
}: AccessKeysOptions): HeldAccessKeys {
  let held = new Held()
  let isWhole = false
  /** When the store was asked for what is held now. */
  let confirmedAt = Number.NEGATIVE_INFINITY
  /** Ids of tokens that were changed and not read since: the store may have failed in between. */
  const changed = new Set<string>()
  let next: Promise<void> | null = null
  let lookedAt = Number.NEGATIVE_INFINITY
  let waiting = 0
  const storeTime = (): number => control.storeTime()
  const uses = new AccessKeyUses({ store, storeTime, now })
  control.accompany(follow)

  /** @param entries what was changed since the last call; `null` where all is to be read */
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
    let from: string | null = null
    do {
      const step = await store.readTokens(from)
      for (const record of step.records) all.put(record)
      from = step.next
      // The embedded store has each step at once: 100,000 tokens would hold up everybody for half a second.
      await new Promise((resolve) => setImmediate(resolve))
    } while (from !== null)
    held = all
    isWhole = true
    changed.clear()
  }

  function note(entry: AuditEntry): void {
    // Nothing says whose access keys are gone.
    if (entry.what === 'user_forgotten') isWhole = false
    for (const id of changedBy(entry)) changed.add(id)
  }

  /** A record is written together with its entry in the audit, so it is there. */
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

  /** Whoever comes when it has begun to ask needs the next one. */
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
  /** Hashes of those that somebody else has made. */
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

  /** Where there are none, no credential is hashed for it. */
  isImported(credential: string): boolean {
    return this.#imported.size > 0 && this.#imported.has(hash('sha256', credential, 'latin1'))
  }
}

/** The ids of the access keys that an entry of the audit has changed. */
function changedBy({ what, subject, to }: AuditEntry): string[] {
  const own = subject !== null && (what === 'token_created' || what === 'token_revoked') ? [subject] : []
  if (!isObject(to)) return own
  if (what === 'token_created') return [...own, ...idsIn([to.replaces])]
  return what === 'tokens_revoked' || what === 'tokens_imported' ? idsIn(to.tokens) : own
}

/** The ids of access keys in a list of an entry of the audit. */
function idsIn(keys: unknown): string[] {
  const list: readonly unknown[] = Array.isArray(keys) ? keys : []
  return list.flatMap((key) => (isObject(key) && typeof key.id === 'string' ? [key.id] : []))
}

/** One character for each byte, which is half of the hexadecimal form. */
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
