import {
  AUDIT_BOUNDS,
  type AuditEntry,
  type Author,
  type Change,
  type Changed,
  type ControlStore,
  type Forgetting,
  KINDS,
  type QuotaReset,
  REPLACED_MS,
  recordsIn,
  STAGED_MS,
  subjectOf,
} from '../../control/control-store.ts'
import { authorWithout } from '../../control/forgetting.ts'
import { auditEntryOf, changesOf, organisationOverrideOf, userOverrideOf } from '../../control/record-forms.ts'
import type { LastChange, Versioned } from '../../control/state.ts'
import { periodOf } from '../../quota/calendar.ts'
import { keptOf, NO_RETENTION, type Retention } from '../../quota/history.ts'
import { StoreError } from '../../quota/quota-store.ts'
import { CHANGES_READ, changesAfter, type Head, jsonOf, type OverridesStep, readInSteps } from '../change-catch-up.ts'
import { isReadable, type RecordList, type Records } from '../records.ts'
import { call, lookedUp, milliseconds, pairsOf, reading, transaction, UNREADABLE } from './calls.ts'
import { historyRule } from './charge-batch.ts'
import type { RedisClient } from './client.ts'
import { editsOf, encodeForgetting } from './forgetting.ts'
import type { Keys } from './keys.ts'
import { StoreClock, withinPeriods } from './store-clock.ts'

/** Overrides that one step of HSCAN looks at. */
const STEP = 500

export function redisControl(
  redis: RedisClient,
  keys: Keys,
  records: Records,
  bounds = AUDIT_BOUNDS,
  clock = new StoreClock(),
  retention: () => Retention = () => NO_RETENTION,
): Omit<ControlStore, 'onChange'> {
  const older = KINDS.map(keys.olderAudit)

  const { settings, ofUsers, ofOrganisations, replaced, audit } = listsOf(redis, keys, records)

  async function readHead(): Promise<Head> {
    const [newest, text] = await reading<[string[], string | null]>(
      redis,
      (commands) => commands.zrange(keys.audit, '-1', '-1', 'WITHSCORES').get(keys.settings),
      (place) => (place === 0 ? NO_AUDIT : UNREADABLE),
    )
    const known = text === null ? null : settings.read('', text)
    return { ...(await lastOf(newest)), settings: known ?? { version: 0, value: {} } }
  }

  async function readOverrides<T>(
    key: string,
    list: RecordList<string, Versioned<T>>,
    from: string | null,
  ): Promise<OverridesStep<T>> {
    const [next, flat] = await call(
      () => redis.hscan(key, from ?? '0', 'COUNT', STEP),
      () => ['0', ['', UNREADABLE]],
    )
    const overrides = pairsOf(flat).flatMap(([id, text]) => {
      // The number of the change that has replaced them.
      if (id === '' && NUMBER.test(text)) return []
      const override = list.read(id, text)
      return override === null ? [] : [[id, override] as const]
    })
    return { overrides, next: next === '0' ? null : next }
  }

  async function readAll<T>(
    key: string,
    list: RecordList<string, Versioned<T>>,
  ): Promise<ReadonlyMap<string, Versioned<T>>> {
    const all = new Map<string, Versioned<T>>()
    let from: string | null = null
    do {
      const step: OverridesStep<T> = await readOverrides(key, list, from)
      for (const [id, override] of step.overrides) all.set(id, override)
      from = step.next
    } while (from !== null)
    return all
  }

  /** By the newest entry. Where that cannot be read, the number of the last change says which one is it. */
  async function lastOf(newest: readonly string[]): Promise<LastChange> {
    if (newest.length === 0) return { version: 0, changedAt: 0 }
    const [entry] = entriesIn(keys.audit, newest)
    if (entry !== undefined) return { version: entry.version, changedAt: entry.at }
    const stored = (await lookedUp(() => redis.get(keys.version))) ?? ''
    if (!NUMBER.test(stored)) return newestReadable()
    const flat = await call(
      () => redis.zrange(keys.audit, stored, stored, 'BYSCORE', 'WITHSCORES'),
      () => NO_AUDIT,
    )
    const version = Number(stored)
    return { version, changedAt: entriesIn(keys.audit, flat).find((one) => one.version === version)?.at ?? 0 }
  }

  async function newestReadable(): Promise<LastChange> {
    const [entry] = await newestOf(keys.audit, null, 1)
    return { version: entry?.version ?? 0, changedAt: entry?.at ?? 0 }
  }

  /** @param flat entries, each with its number behind it */
  function entriesIn(set: string, flat: readonly string[]): AuditEntry[] {
    return audit(set).readAll(pairsOf(flat).map(([text, version]) => [version, text]))
  }

  /** The newest of a set, so many that can be read. */
  async function newestOf(set: string, before: number | null, limit: number): Promise<AuditEntry[]> {
    const newest = before === null ? '+inf' : `(${before}`
    const entries: AuditEntry[] = []
    for (let offset = 0; entries.length < limit; offset += limit) {
      const flat = await call(
        () => redis.zrange(set, newest, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, limit, 'WITHSCORES'),
        () => NO_AUDIT,
      )
      entries.push(...entriesIn(set, flat))
      if (flat.length < 2 * limit) break
    }
    return entries
  }

  /** What others write while it is looked for is found by the next look. */
  async function forget(change: Forgetting, author: Author): Promise<Changed> {
    let changed: Changed | null = null
    for (let looks = 0; looks < LOOKS; looks++) {
      const edits = await editsOf(redis, keys, change)
      if (changed !== null && edits.length === 0) break
      const words = encodeForgetting(change, edits, keys, changed !== null)
      const { names, args } = encodeChange(change, author, null, keys, bounds, undefined, undefined, words)
      const reply = await call(() => redis.changeControl(names.length, ...names, ...args))
      changed ??= changedBy(reply)
    }
    return changed as Changed
  }

  return {
    async controlVersion() {
      const [time, newest] = await reading<[[string, string], string[]]>(
        redis,
        (commands) => commands.time().zrange(keys.audit, '-1', '-1', 'WITHSCORES'),
        () => NO_AUDIT,
      )
      return { ...(await lastOf(newest)), at: milliseconds(time) }
    },

    readControl: () =>
      readInSteps(
        readHead,
        (from) => readOverrides(keys.overrides, ofUsers, from),
        (from) => readOverrides(keys.organisationOverrides, ofOrganisations, from),
      ),

    async changesSince(last) {
      const from = String(last.version)
      const flat = await call(
        () => redis.zrange(keys.audit, from, '+inf', 'BYSCORE', 'LIMIT', 0, CHANGES_READ, 'WITHSCORES'),
        () => NO_AUDIT,
      )
      return changesAfter(last, entriesIn(keys.audit, flat))
    },

    async change(change, author, expected) {
      if (change.kind === 'user_forgotten') return forget(change, authorWithout(author, change))
      const reply = await withinPeriods(clock, (now) => {
        const { names, args } = encodeChange(change, author, expected, keys, bounds, now, retention())
        return call(() => redis.changeControl(names.length, ...names, ...args))
      })
      return changedBy(reply)
    },

    async stageOverrides(staged, overrides, of = 'users') {
      const key = of === 'users' ? keys.stagedOverrides(staged) : keys.stagedOrganisationOverrides(staged)
      const pairs = overrides.flatMap(([id, { version, value }]) => [id, `${version} ${JSON.stringify(value)}`])
      if (pairs.length > 0) await transaction(redis, (multi) => multi.hset(key, ...pairs).pexpire(key, STAGED_MS))
    },

    async readReplaced(version) {
      const isOf = async () => (await lookedUp(() => redis.hget(keys.replacedOverrides, ''))) === String(version)
      if (!(await isOf())) return null
      const all = {
        overrides: await readAll(keys.replacedOverrides, replaced.ofUsers),
        organisationOverrides: await readAll(keys.replacedOrganisationOverrides, replaced.ofOrganisations),
      }
      return (await isOf()) ? all : null
    },

    async readAudit(before, limit) {
      const newest = await newestOf(keys.audit, before, limit)
      // An entry that has become older since then is read twice.
      const rest = newest.length < limit ? await Promise.all(older.map((set) => newestOf(set, before, limit))) : []
      const byVersion = new Map([...newest, ...rest.flat()].map((entry) => [entry.version, entry]))
      return [...byVersion.values()].sort((a, b) => b.version - a.version).slice(0, limit)
    },

    async forgottenChanges() {
      const [count, oldest] = await reading<[string | null, string[]]>(
        redis,
        (commands) => commands.get(keys.forgotten).zrange(keys.audit, '0', '0', 'WITHSCORES'),
        (place) => (place === 0 ? null : NO_AUDIT),
      )
      if (count !== null && NUMBER.test(count)) return Number(count)
      // Builds before forgot the oldest one by one, and counted none.
      return (entriesIn(keys.audit, oldest)[0]?.version ?? 1) - 1
    },
  }
}

/** After so many whoever uses the name all the time is left to the next forgetting. */
const LOOKS = 4

function changedBy(reply: unknown): Changed {
  if (typeof reply === 'number') return { done: false, version: reply }
  if (!Array.isArray(reply)) throw new StoreError('unexpected reply of control.lua', 'other', 'unknown')
  const [entry, forgotten] = reply as [string, number]
  return { done: true, entry: JSON.parse(entry) as AuditEntry, forgotten }
}

/**
 * A change in the words of control.lua.
 * @param now where the store's clock stands about, for the periods of calendars
 * @param retention how long the runs of emptied windows are kept. Default: not at all
 * @param words where somebody is forgotten, and how
 */
export function encodeChange(
  change: Change,
  { who, why }: Author,
  expected: number | null,
  keys: Keys,
  bounds = AUDIT_BOUNDS,
  now = Date.now(),
  retention: Retention = NO_RETENTION,
  words: { readonly places: readonly string[]; readonly details: string } = {
    places: placeOf(change, keys),
    details: detailsOf(change, keys, retention, now),
  },
): { readonly names: readonly string[]; readonly args: readonly string[] } {
  const subject = subjectOf(change)
  const older = KINDS.map(keys.olderAudit)
  return {
    names: [keys.version, keys.audit, keys.forgotten, ...older, ...words.places],
    args: [
      change.kind,
      subject ?? '',
      JSON.stringify(subject),
      jsonOf(change),
      JSON.stringify(who),
      JSON.stringify(why),
      expectedBy(change, expected),
      String(bounds.newest),
      keys.changes,
      String(bounds.olderOfKind),
      KINDS.map((kind) => `${kind} `).join(''),
      words.details,
      String(REPLACED_MS),
    ],
  }
}

function expectedBy(change: Change, expected: number | null): string {
  if (change.kind === 'overrides') return String(change.base)
  return expected === null ? '' : String(expected)
}

function detailsOf(change: Change, keys: Keys, retention: Retention, now: number): string {
  if (change.kind === 'overrides') return `${change.count} ${change.organisations} ${JSON.stringify(change.from)}`
  const records = recordsIn(change)
  if (records.length > 0) return JSON.stringify(records.map((it) => [it.hash, it.id, JSON.stringify(it)]))
  return emptiedOf(change, keys, retention, now)
}

function placeOf(change: Change, keys: Keys): string[] {
  if (change.kind === 'settings') return [keys.settings]
  if (change.kind === 'overrides') {
    const { staged } = change
    return [
      ...[keys.overrides, keys.stagedOverrides(staged), keys.replacedOverrides],
      ...[keys.organisationOverrides, keys.stagedOrganisationOverrides(staged), keys.replacedOrganisationOverrides],
    ]
  }
  if (change.kind === 'override') return [keys.overrides]
  if (change.kind === 'organisation_override') return [keys.organisationOverrides]
  if (change.kind === 'reset' || change.kind === 'user_forgotten') return [keys.user(change.user)]
  if ('record' in change || 'records' in change) return [keys.tokens, keys.tokenIds]
  return [change.organisation === undefined ? keys.everybody(change.category) : keys.organisation(change.organisation)]
}

/** What is emptied, and for how long its runs are kept, as control.lua reads it. */
function emptiedOf(change: Change, keys: Keys, retention: Retention, now: number): string {
  if (change.kind === 'reset') {
    const kept = keptOf(retention, 'personal', change.user)
    return JSON.stringify({ history: kept === null ? [] : historyRule(keys, kept) })
  }
  if (change.kind !== 'quota_reset') return ''
  const kept = change.organisation === undefined ? null : keptOf(retention, 'organisation', change.organisation)
  return JSON.stringify({ ...windowsOf(change, now), history: kept === null ? [] : historyRule(keys, kept) })
}

function windowsOf({ category, all, windows }: QuotaReset, now: number) {
  const named = windows.map(({ seconds, name, calendar }) => {
    const period = calendar === undefined ? null : periodOf(calendar, now)
    return [seconds, JSON.stringify(name), ...(period === null ? [] : [period.from, period.to])]
  })
  return { category, all, windows: named }
}

/** What is read of an audit whose key is no sorted set: one entry, without a number, that cannot be read. */
const NO_AUDIT: string[] = [UNREADABLE, '']

/** A count of ours. */
const NUMBER = /^\d{1,15}$/

/** What is changed at run time, record by record. */
function listsOf(redis: RedisClient, keys: Keys, records: Records) {
  const audits = new Map<string, RecordList<string, AuditEntry>>()
  for (const set of [keys.audit, ...KINDS.map(keys.olderAudit)]) {
    const parse = (text: string): AuditEntry | null => auditEntryOf(JSON.parse(text))
    const look = async (version: string): Promise<string | undefined> => {
      const score = version === '' ? '0' : version
      const texts = await call(
        () => redis.zrange(set, score, score, 'BYSCORE'),
        () => NO_AUDIT,
      )
      return texts.find((text) => !isReadable(parse, text))
    }
    audits.set(set, records.list({ kind: 'audit_entry', list: set, parse, look }))
  }
  return {
    settings: records.list({
      kind: 'settings',
      list: keys.settings,
      parse: versionedBy(changesOf),
      look: () => lookedUp(() => redis.get(keys.settings)),
    }),
    ofUsers: records.list({
      kind: 'override',
      list: keys.overrides,
      parse: versionedBy(userOverrideOf),
      look: (user) => lookedUp(() => redis.hget(keys.overrides, user)),
    }),
    replaced: {
      ofUsers: records.list({
        kind: 'override',
        list: keys.replacedOverrides,
        parse: versionedBy(userOverrideOf),
        look: (user) => lookedUp(() => redis.hget(keys.replacedOverrides, user)),
      }),
      ofOrganisations: records.list({
        kind: 'organisation_override',
        list: keys.replacedOrganisationOverrides,
        parse: versionedBy(organisationOverrideOf),
        look: (id) => lookedUp(() => redis.hget(keys.replacedOrganisationOverrides, id)),
      }),
    },
    ofOrganisations: records.list({
      kind: 'organisation_override',
      list: keys.organisationOverrides,
      parse: versionedBy(organisationOverrideOf),
      look: (id) => lookedUp(() => redis.hget(keys.organisationOverrides, id)),
    }),
    audit: (set: string) => audits.get(set) as RecordList<string, AuditEntry>,
  }
}

/** Stored as control.lua describes. */
function versionedBy<T>(parse: (value: unknown) => T | null): (text: string) => Versioned<T> | null {
  return (text) => {
    const space = text.indexOf(' ')
    const version = text.slice(0, space)
    const value = NUMBER.test(version) ? parse(JSON.parse(text.slice(space + 1))) : null
    return value === null ? null : { version: Number(version), value }
  }
}
