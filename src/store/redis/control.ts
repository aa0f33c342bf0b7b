import {
  AUDIT_BOUNDS,
  type AuditEntry,
  type Author,
  type Change,
  type ControlStore,
  KINDS,
  type QuotaReset,
  STAGED_MS,
  subjectOf,
} from '../../control/control-store.ts'
import type { Changes, LastChange, OrganisationOverride, UserOverride, Versioned } from '../../control/state.ts'
import { periodOf } from '../../quota/calendar.ts'
import { keptOf, NO_RETENTION, type Retention } from '../../quota/history.ts'
import { StoreError } from '../../quota/quota-store.ts'
import { CHANGES_READ, changesAfter, type Head, jsonOf, type OverridesStep, readInSteps } from '../change-catch-up.ts'
import { call, milliseconds, reading, transaction } from './calls.ts'
import { historyRule } from './charge-batch.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'
import { StoreClock, withinPeriods } from './store-clock.ts'

/** Overrides that one step of HSCAN looks at. */
const STEP = 500

export function redisControl(
  redis: RedisClient,
  keys: Keys,
  bounds = AUDIT_BOUNDS,
  clock = new StoreClock(),
  retention: () => Retention = () => NO_RETENTION,
): Omit<ControlStore, 'onChange'> {
  const older = KINDS.map(keys.olderAudit)

  async function readHead(): Promise<Head> {
    const [newest, settings] = await reading<[string[], string | null]>(redis, (commands) => {
      commands.zrange(keys.audit, '-1', '-1').get(keys.settings)
    })
    return {
      ...lastOf(newest),
      settings: settings === null ? { version: 0, value: {} } : parseVersioned<Changes>(settings),
    }
  }

  async function readOverrides<T>(key: string, from: string | null): Promise<OverridesStep<T>> {
    const [next, flat] = await call(() => redis.hscan(key, from ?? '0', 'COUNT', STEP))
    const overrides: [string, Versioned<T>][] = []
    for (let i = 0; i < flat.length; i += 2) overrides.push([flat[i] ?? '', parseVersioned(flat[i + 1] ?? '')])
    return { overrides, next: next === '0' ? null : next }
  }

  async function entriesOf(sets: readonly string[], before: number | null, limit: number): Promise<AuditEntry[]> {
    const newest = before === null ? '+inf' : `(${before}`
    const some = await reading<string[][]>(redis, (commands) => {
      for (const set of sets) commands.zrange(set, newest, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, String(limit))
    })
    return some.flat().map(parseEntry)
  }

  return {
    async controlVersion() {
      const [time, newest] = await reading<[[string, string], string[]]>(redis, (commands) => {
        commands.time().zrange(keys.audit, '-1', '-1')
      })
      return { ...lastOf(newest), at: milliseconds(time) }
    },

    readControl: () =>
      readInSteps(
        readHead,
        (from) => readOverrides<UserOverride>(keys.overrides, from),
        (from) => readOverrides<OrganisationOverride>(keys.organisationOverrides, from),
      ),

    async changesSince(last) {
      const from = String(last.version)
      const entries = await call(() => redis.zrange(keys.audit, from, '+inf', 'BYSCORE', 'LIMIT', 0, CHANGES_READ))
      return changesAfter(last, entries.map(parseEntry))
    },

    async change(change, author, expected) {
      const reply = await withinPeriods(clock, (now) => {
        const { names, args } = encodeChange(change, author, expected, keys, bounds, now, retention())
        return call(() => redis.changeControl(names.length, ...names, ...args))
      })
      if (typeof reply === 'number') return { done: false, version: reply }
      if (!Array.isArray(reply)) throw new StoreError('unexpected reply of control.lua', 'other', 'unknown')
      const [entry, forgotten] = reply as [string, number]
      return { done: true, entry: parseEntry(entry), forgotten }
    },

    async stageOverrides(staged, overrides) {
      const key = keys.stagedOverrides(staged)
      const pairs = overrides.flatMap(([user, { version, value }]) => [user, `${version} ${JSON.stringify(value)}`])
      if (pairs.length > 0) await transaction(redis, (multi) => multi.hset(key, ...pairs).pexpire(key, STAGED_MS))
    },

    async readAudit(before, limit) {
      const newest = await entriesOf([keys.audit], before, limit)
      // An entry that has become older since then is read twice.
      const rest = newest.length < limit ? await entriesOf(older, before, limit) : []
      const byVersion = new Map([...newest, ...rest].map((entry) => [entry.version, entry]))
      return [...byVersion.values()].sort((a, b) => b.version - a.version).slice(0, limit)
    },

    async forgottenChanges() {
      const [count, oldest] = await reading<[string | null, string[]]>(redis, (commands) => {
        commands.get(keys.forgotten).zrange(keys.audit, '0', '0')
      })
      if (count !== null) return Number(count)
      // Builds before forgot the oldest one by one, and counted none.
      return oldest[0] === undefined ? 0 : parseEntry(oldest[0]).version - 1
    },
  }
}

/**
 * A change in the words of control.lua.
 * @param now where the store's clock stands about, for the periods of calendars
 * @param retention how long the runs of emptied windows are kept. Default: not at all
 */
export function encodeChange(
  change: Change,
  { who, why }: Author,
  expected: number | null,
  keys: Keys,
  bounds = AUDIT_BOUNDS,
  now = Date.now(),
  retention: Retention = NO_RETENTION,
): { readonly names: readonly string[]; readonly args: readonly string[] } {
  const subject = subjectOf(change)
  const older = KINDS.map(keys.olderAudit)
  return {
    names: [keys.version, keys.audit, keys.forgotten, ...older, ...placeOf(change, keys)],
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
      detailsOf(change, keys, retention, now),
    ],
  }
}

function expectedBy(change: Change, expected: number | null): string {
  if (change.kind === 'overrides') return String(change.base)
  return expected === null ? '' : String(expected)
}

function detailsOf(change: Change, keys: Keys, retention: Retention, now: number): string {
  if (change.kind === 'overrides') return `${change.count} ${JSON.stringify(change.from)}`
  if ('record' in change) return `${change.record.hash} ${JSON.stringify(change.record)}`
  return emptiedOf(change, keys, retention, now)
}

function placeOf(change: Change, keys: Keys): string[] {
  if (change.kind === 'settings') return [keys.settings]
  if (change.kind === 'overrides') return [keys.overrides, keys.stagedOverrides(change.staged)]
  if (change.kind === 'override') return [keys.overrides]
  if (change.kind === 'organisation_override') return [keys.organisationOverrides]
  if (change.kind === 'reset') return [keys.user(change.user)]
  if ('record' in change) return [keys.tokens, keys.tokenIds]
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

/** The audit always keeps its newest entry. */
function lastOf([newest]: readonly string[]): LastChange {
  if (newest === undefined) return { version: 0, changedAt: 0 }
  const { version, at } = parseEntry(newest)
  return { version, changedAt: at }
}

function parseEntry(text: string): AuditEntry {
  return parse(text) as AuditEntry
}

/** Stored as control.lua describes. */
function parseVersioned<T>(text: string): Versioned<T> {
  const space = text.indexOf(' ')
  return { version: Number(text.slice(0, space)), value: parse(text.slice(space + 1)) as T }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new StoreError('what lies under our keys was not written by us', 'other', 'no', error)
  }
}
