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
import type { GivenGrant, Versioned } from '../../control/state.ts'
import { NO_RETENTION, type Retention } from '../../quota/history.ts'
import { changesAfter, jsonOf, readAll, readInSteps } from '../change-catch-up.ts'
import type { Records } from '../records.ts'
import { isGoodToken, putToken } from './access-keys.ts'
import { sqliteAudit } from './audit.ts'
import { attempt, type SqliteFile } from './database.ts'
import { IN_FORCE, sqliteEditions } from './editions.ts'
import { sqliteEmptying } from './emptying.ts'
import { overwriting, sqliteForgetting } from './forgotten.ts'
import { grantRows } from './grants.ts'
import { versionedRows } from './versioned.ts'

export interface SqliteControlOptions {
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** Default AUDIT_BOUNDS. */
  readonly bounds?: AuditBounds
  /** How long runs are kept. By default they are not kept. */
  readonly retention?: () => Retention
}

/** Listeners are called for changes made through this object. Changes by other processes show in the version. */
export function sqliteControl(file: SqliteFile, records: Records, options: SqliteControlOptions): ControlStore {
  const { clock, bounds = AUDIT_BOUNDS } = options
  const listeners = new Set<() => void>()
  const { settings, users, organisations, grants, audit } = controlRows(file, records, bounds)
  const editions = sqliteEditions(file, clock)
  const changeNow = changing(file, { settings, users, organisations, grants, audit }, editions, options)

  return {
    controlVersion: () => attempt(() => ({ ...audit.last(), at: clock() })),

    readControl: () =>
      readInSteps(
        () => file.read(() => ({ ...audit.last(), settings: settings.one(SETTINGS) ?? { version: 0, value: {} } })),
        (from) => attempt(() => users.step(from)),
        (from) => attempt(() => organisations.step(from)),
        (from) => attempt(() => grants.step(from)),
      ),

    changesSince: (from) => attempt(() => changesAfter(from, audit.from(from.version))),

    async change(change, author, expected) {
      const make = () => file.write(() => changeNow(change, author, expected))
      const changed = await (change.kind === 'user_forgotten' ? overwriting(file.database, make) : make())
      if (changed.done) for (const listener of [...listeners]) listener()
      return changed
    },

    stageOverrides: (staged, overrides, of = 'users') => file.write(() => editions.stage(staged, overrides, of)),

    async readReplaced(version) {
      const edition = await attempt(() => editions.replacedBy(version))
      if (edition === null) return null
      return {
        overrides: await readAll((from) => attempt(() => users.step(from, edition))),
        organisationOverrides: await readAll((from) => attempt(() => organisations.step(from, edition))),
      }
    },

    keepsReplaced: (user) => attempt(() => editions.keepsReplaced(user)),

    forgetGrants: (ids) => file.write(() => grants.forget(ids)),

    readAudit: (before, limit) => attempt(() => audit.newest(before, limit)),

    forgottenChanges: () => attempt(audit.forgotten),

    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** The records of changes by administrators. @param bounds of the audit. Default AUDIT_BOUNDS */
export function controlRows(file: SqliteFile, records: Records, bounds = AUDIT_BOUNDS) {
  return {
    settings: versionedRows(file, records, { kind: 'settings', table: 'settings', key: 'id', parse: changesOf }),
    users: versionedRows(file, records, {
      ...{ kind: 'override', table: 'overrides', key: 'user', parse: userOverrideOf, edition: IN_FORCE },
    }),
    organisations: versionedRows(file, records, {
      ...{ kind: 'organisation_override', table: 'organisation_overrides', key: 'organisation' },
      ...{ parse: organisationOverrideOf, edition: IN_FORCE },
    }),
    grants: grantRows(file, records),
    audit: sqliteAudit(file, records, bounds),
  }
}

/** The id of the settings, which are one row. */
export const SETTINGS = '1'

type ControlRows = ReturnType<typeof controlRows>

/** Makes a change with its entry in the audit. Call it within a transaction. */
function changing(
  file: SqliteFile,
  { settings, users, organisations, grants, audit }: ControlRows,
  editions: ReturnType<typeof sqliteEditions>,
  { clock, retention = () => NO_RETENTION }: SqliteControlOptions,
): (change: Change, author: Author, expected: number | null) => Changed {
  const emptying = sqliteEmptying(file, clock, retention)
  const forget = sqliteForgetting(file, clock)

  function storedOf(change: Change): Versioned<unknown> | null {
    if (change.kind === 'settings') return settings.one(SETTINGS)
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
    if (change.kind === 'settings') settings.put(SETTINGS, version, after)
    else if (change.kind === 'reset') emptying.ofUser(change.user)
    else if (change.kind === 'user_forgotten') forget(change)
    else if (change.kind === 'override') users.put(change.user, version, change.to && after)
    else if (change.kind === 'grant') grants.put(change.id, version, after)
    else if (change.kind === 'organisation_override')
      organisations.put(change.organisation, version, change.to && after)
    for (const record of recordsIn(change)) putToken(file, record)
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
    if (replaced !== null && !isGoodToken(file, replaced.hash)) return { done: false, version: 0 }
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
    audit.put(row, before, after)
    const forgotten = audit.forget(row.version)
    return { done: true, entry: { ...row, from: JSON.parse(before), to: JSON.parse(after) }, forgotten }
  }
}
