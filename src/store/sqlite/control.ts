import type { DatabaseSync } from 'node:sqlite'
import {
  AUDIT_BOUNDS,
  type AuditBounds,
  type Author,
  type Change,
  type Changed,
  type ControlStore,
  hasVersion,
  recordsIn,
  replacedBy,
  subjectOf,
} from '../../control/control-store.ts'
import { authorWithout } from '../../control/forgetting.ts'
import { changesOf, organisationOverrideOf, userOverrideOf } from '../../control/record-forms.ts'
import type { Changes, GivenGrant, Packed, Versioned } from '../../control/state.ts'
import { NO_RETENTION, type Retention } from '../../quota/history.ts'
import { changesAfter, jsonOf, readAll, readInSteps } from '../change-catch-up.ts'
import type { RecordList, Records } from '../records.ts'
import { goodToken, putToken } from './access-keys.ts'
import { sqliteAudit } from './audit.ts'
import { attempt, transactions } from './database.ts'
import { IN_FORCE, sqliteEditions } from './editions.ts'
import { sqliteEmptying } from './emptying.ts'
import { overwriting, sqliteForgetting } from './forgotten.ts'
import { grantRows } from './grants.ts'
import { type Row, rowsOf } from './rows.ts'
import { versionedBy, versionedRows } from './versioned.ts'

export interface SqliteControlOptions {
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** Default AUDIT_BOUNDS. */
  readonly bounds?: AuditBounds
  /** How long runs are kept. By default they are not kept. */
  readonly retention?: () => Retention
}

/** Listeners are called for changes made through this object. Changes by other processes show in the version. */
export function sqliteControl(database: DatabaseSync, records: Records, options: SqliteControlOptions): ControlStore {
  const { clock, bounds = AUDIT_BOUNDS } = options
  const listeners = new Set<() => void>()
  const { writing, reading } = transactions(database)
  const { settings, users, organisations, grants, audit } = controlRows(database, records, bounds)
  const editions = sqliteEditions(database, clock)
  const changeNow = changing(database, { settings, users, organisations, grants, audit }, editions, options)

  return {
    controlVersion: () => attempt(() => ({ ...audit.last(), at: clock() })),

    readControl: () =>
      readInSteps(
        () =>
          attempt(() => reading(() => ({ ...audit.last(), settings: settings.read() ?? { version: 0, value: {} } }))),
        (from) => attempt(() => users.step(from)),
        (from) => attempt(() => organisations.step(from)),
        (from) => attempt(() => grants.step(from)),
      ),

    changesSince: (from) => attempt(() => changesAfter(from, audit.from(from.version))),

    async change(change, author, expected) {
      const make = () => attempt(() => writing(() => changeNow(change, author, expected)))
      const changed = await (change.kind === 'user_forgotten' ? overwriting(database, make) : make())
      if (changed.done) for (const listener of [...listeners]) listener()
      return changed
    },

    stageOverrides: (staged, overrides, of = 'users') =>
      attempt(() => writing(() => editions.stage(staged, overrides, of))),

    async readReplaced(version) {
      const edition = await attempt(() => editions.replacedBy(version))
      if (edition === null) return null
      return {
        overrides: await readAll((from) => attempt(() => users.step(from, edition))),
        organisationOverrides: await readAll((from) => attempt(() => organisations.step(from, edition))),
      }
    },

    keepsReplaced: (user) => attempt(() => editions.keepsReplaced(user)),

    forgetGrants: (ids) => attempt(() => writing(() => grants.forget(ids))),

    readAudit: (before, limit) => attempt(() => audit.newest(before, limit)),

    forgottenChanges: () => attempt(audit.forgotten),

    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** The records of changes by administrators. @param bounds of the audit. Default AUDIT_BOUNDS */
export function controlRows(database: DatabaseSync, records: Records, bounds = AUDIT_BOUNDS) {
  return {
    settings: settingsRow(database, records),
    users: versionedRows(database, records, {
      ...{ kind: 'override', table: 'overrides', key: 'user', parse: userOverrideOf, edition: IN_FORCE },
    }),
    organisations: versionedRows(database, records, {
      ...{ kind: 'organisation_override', table: 'organisation_overrides', key: 'organisation' },
      ...{ parse: organisationOverrideOf, edition: IN_FORCE },
    }),
    grants: grantRows(database, records),
    audit: sqliteAudit(database, records, bounds),
  }
}

type ControlRows = ReturnType<typeof controlRows>

/** The settings, which are one row. */
function settingsRow(database: DatabaseSync, records: Records) {
  const find = rowsOf(database, 'SELECT version, value FROM settings')
  const set = database.prepare('INSERT OR REPLACE INTO settings (id, version, value) VALUES (1, ?, ?)')
  const list: RecordList<Row, Versioned<Packed<Changes>>> = records.list({
    kind: 'settings',
    list: 'settings',
    parse: versionedBy(changesOf),
    look: () => find.first(),
  })
  return {
    /** Unreadable settings are ignored. */
    read() {
      const row = find.first()
      return row === undefined ? null : list.read('', row)
    },
    put: (version: number, json: string) => void set.run(version, json),
  }
}

/** Makes a change with its entry in the audit. Call it within a transaction. */
function changing(
  database: DatabaseSync,
  { settings, users, organisations, grants, audit }: ControlRows,
  editions: ReturnType<typeof sqliteEditions>,
  { clock, retention = () => NO_RETENTION }: SqliteControlOptions,
): (change: Change, author: Author, expected: number | null) => Changed {
  const emptying = sqliteEmptying(database, clock, retention)
  const keys = { put: putToken(database), isGood: goodToken(database) }
  const forget = sqliteForgetting(database, clock)

  function storedOf(change: Change): Versioned<unknown> | null {
    if (change.kind === 'settings') return settings.read()
    if (change.kind === 'override') return users.one(change.user)
    if (change.kind === 'grant') return grants.one(change.id)
    return change.kind === 'organisation_override' ? organisations.one(change.organisation) : null
  }

  /** @returns the values before and after, as JSON */
  function apply(change: Change, version: number, known: Versioned<unknown> | null) {
    const after =
      'endedAt' in change ? JSON.stringify({ ...(known?.value ?? {}), endedAt: change.endedAt }) : jsonOf(change)
    if (change.kind === 'quota_reset') return emptying.shared(change)
    if (change.kind === 'overrides') return { before: JSON.stringify(change.from), after }
    if (change.kind === 'settings') settings.put(version, after)
    else if (change.kind === 'reset') emptying.ofUser(change.user)
    else if (change.kind === 'user_forgotten') forget(change)
    else if (change.kind === 'override') users.put(change.user, version, change.to && after)
    else if (change.kind === 'grant') grants.put(change.id, version, after)
    else if (change.kind === 'organisation_override')
      organisations.put(change.organisation, version, change.to && after)
    for (const record of recordsIn(change)) keys.put(record)
    return { before: JSON.stringify(known?.value ?? null), after }
  }

  return (change, author, expected) => {
    const known = storedOf(change)
    const has = known?.version ?? 0
    if (hasVersion(change) && expected !== null && expected !== has) return { done: false, version: has }
    if (change.kind === 'grant' && grants.refuses(change, known as Versioned<GivenGrant> | null, clock())) {
      return { done: false, version: has }
    }
    const replaced = replacedBy(change)
    if (replaced !== null && !keys.isGood(replaced.hash)) return { done: false, version: 0 }
    const { version: last } = audit.last()
    if (change.kind === 'overrides') {
      const { staged, count, organisations, base } = change
      const isUsed = editions.use(staged, count + organisations, base === last ? last + 1 : null)
      if (!isUsed) return { done: false, version: last }
    }
    const { who, why, vain } = change.kind === 'user_forgotten' ? authorWithout(author, change) : author
    const { before, after } = apply(change, last + 1, known)
    const row = {
      version: last + 1,
      at: clock(),
      who,
      what: change.kind,
      subject: subjectOf(change),
      why,
      ...(vain && { vain }),
    }
    const forgotten = audit.add(row, before, after)
    return { done: true, entry: { ...row, from: JSON.parse(before), to: JSON.parse(after) }, forgotten }
  }
}
