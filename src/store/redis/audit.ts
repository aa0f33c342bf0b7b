import { type AuditEntry, KINDS } from '../../control/control-store.ts'
import { auditEntryOf } from '../../control/record-forms.ts'
import type { LastChange } from '../../control/state.ts'
import { CHANGES_READ } from '../change-catch-up.ts'
import { isReadable, type RecordList, type Records } from '../records.ts'
import { call, lookedUp, pairsOf, reading, UNREADABLE } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** Stands for an audit whose key is no sorted set: one unreadable entry without a number. */
export const NO_AUDIT: string[] = [UNREADABLE, '']

/** A number that we may have written. */
export const NUMBER = /^\d{1,15}$/

/** The audit: a sorted set of the newest entries, and another one for the older entries of each kind. */
export class RedisAudit {
  readonly #redis: RedisClient
  readonly #keys: Keys
  readonly #lists: ReadonlyMap<string, RecordList<string, AuditEntry>>

  constructor(redis: RedisClient, keys: Keys, records: Records) {
    this.#redis = redis
    this.#keys = keys
    const sets = [keys.audit, ...KINDS.map(keys.olderAudit)]
    this.#lists = new Map(sets.map((set) => [set, listOf(redis, set, records)]))
  }

  /** The last change, from the newest entry. If this entry cannot be read, the stored number of the last change identifies it. */
  async last(newest: readonly string[]): Promise<LastChange> {
    const { audit, version: number } = this.#keys
    if (newest.length === 0) return { version: 0, changedAt: 0 }
    const [entry] = this.#entriesIn(audit, newest)
    if (entry !== undefined) return { version: entry.version, changedAt: entry.at }
    const stored = (await lookedUp(() => this.#redis.get(number))) ?? ''
    if (!NUMBER.test(stored)) return this.#newestReadable()
    const flat = await call(
      () => this.#redis.zrange(audit, stored, stored, 'BYSCORE', 'WITHSCORES'),
      () => NO_AUDIT,
    )
    const version = Number(stored)
    return { version, changedAt: this.#entriesIn(audit, flat).find((one) => one.version === version)?.at ?? 0 }
  }

  /** The readable ones of the first CHANGES_READ entries from a number on. */
  async from(version: number): Promise<readonly AuditEntry[]> {
    const { audit } = this.#keys
    const flat = await call(
      () => this.#redis.zrange(audit, String(version), '+inf', 'BYSCORE', 'LIMIT', 0, CHANGES_READ, 'WITHSCORES'),
      () => NO_AUDIT,
    )
    return this.#entriesIn(audit, flat)
  }

  async newest(before: number | null, limit: number): Promise<readonly AuditEntry[]> {
    const [audit = '', ...older] = this.#lists.keys()
    const newest = await this.#newestOf(audit, before, limit)
    // An entry that was moved to the older ones since then is read twice, which does no harm.
    const isShort = newest.length < limit
    const rest = isShort ? await Promise.all(older.map((set) => this.#newestOf(set, before, limit))) : []
    const byVersion = new Map([...newest, ...rest.flat()].map((entry) => [entry.version, entry]))
    return [...byVersion.values()].sort((a, b) => b.version - a.version).slice(0, limit)
  }

  async forgotten(): Promise<number> {
    const { audit, forgotten } = this.#keys
    const [count, oldest] = await reading<[string | null, string[]]>(
      this.#redis,
      (commands) => commands.get(forgotten).zrange(audit, '0', '0', 'WITHSCORES'),
      (place) => (place === 0 ? null : NO_AUDIT),
    )
    if (count !== null && NUMBER.test(count)) return Number(count)
    // Earlier builds forgot the oldest entries without counting them.
    return (this.#entriesIn(audit, oldest)[0]?.version ?? 1) - 1
  }

  async #newestReadable(): Promise<LastChange> {
    const [entry] = await this.#newestOf(this.#keys.audit, null, 1)
    return { version: entry?.version ?? 0, changedAt: entry?.at ?? 0 }
  }

  /** @param flat entries, each followed by its number */
  #entriesIn(set: string, flat: readonly string[]): AuditEntry[] {
    return this.#lists.get(set)?.readAll(pairsOf(flat).map(([text, version]) => [version, text])) ?? []
  }

  /** The newest readable entries of a set, at most `limit`. */
  async #newestOf(set: string, before: number | null, limit: number): Promise<AuditEntry[]> {
    const newest = before === null ? '+inf' : `(${before}`
    const entries: AuditEntry[] = []
    for (let offset = 0; entries.length < limit; offset += limit) {
      const flat = await call(
        () => this.#redis.zrange(set, newest, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, limit, 'WITHSCORES'),
        () => NO_AUDIT,
      )
      entries.push(...this.#entriesIn(set, flat))
      if (flat.length < 2 * limit) break
    }
    return entries
  }
}

function listOf(redis: RedisClient, set: string, records: Records): RecordList<string, AuditEntry> {
  const parse = (text: string): AuditEntry | null => auditEntryOf(JSON.parse(text))
  const look = async (version: string): Promise<string | undefined> => {
    const score = version === '' ? '0' : version
    const texts = await call(
      () => redis.zrange(set, score, score, 'BYSCORE'),
      () => NO_AUDIT,
    )
    return texts.find((text) => !isReadable(parse, text))
  }
  return records.list({ kind: 'audit_entry', list: set, parse, look })
}
