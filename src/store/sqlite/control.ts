import type { DatabaseSync } from 'node:sqlite'
import {
  AUDIT_BOUNDS,
  type AuditBounds,
  type AuditEntry,
  type Author,
  type Change,
  type Changed,
  type ControlStore,
  hasVersion,
  type QuotaReset,
  recordsIn,
  subjectOf,
} from '../../control/control-store.ts'
import { authorWithout } from '../../control/forgetting.ts'
import { auditEntryOf, changesOf, organisationOverrideOf, userOverrideOf } from '../../control/record-forms.ts'
import type { LastChange, Versioned } from '../../control/state.ts'
import { type Counter, empty, endsAt, running } from '../../quota/counter.ts'
import { endedRuns, keptOf, longestKept, NO_RETENTION, type Retention } from '../../quota/history.ts'
import type { HistoryScope } from '../../quota/history-store.ts'
import { CHANGES_READ, changesAfter, type Head, jsonOf, type OverridesStep, readInSteps } from '../change-catch-up.ts'
import { pack, unpack } from '../packed-value.ts'
import type { RecordList, Records } from '../records.ts'
import { putToken } from './access-keys.ts'
import { SCOPE_NUMBERS } from './counter-rows.ts'
import { attempt, transactions } from './database.ts'
import { IN_FORCE, sqliteEditions } from './editions.ts'
import { overwriting, sqliteForgetting } from './forgotten.ts'
import { historyRows, type TouchedHistories } from './history-rows.ts'
import { nameOf, type Row, rowsOf } from './rows.ts'

/** Overrides that one step reads. */
const STEP = 500

export interface SqliteControlOptions {
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** Default AUDIT_BOUNDS. */
  readonly bounds?: AuditBounds
  /** How long runs are kept. Default: not at all. */
  readonly retention?: () => Retention
}

/** Listeners hear of changes made through this object; those of other processes show in the version. */
export function sqliteControl(database: DatabaseSync, lists: Records, options: SqliteControlOptions): ControlStore {
  const { clock, bounds = AUDIT_BOUNDS, retention = () => NO_RETENTION } = options
  const listeners = new Set<() => void>()
  const { writing, reading } = transactions(database)
  const sql = prepare(database)
  const records = controlRecords(database, lists)
  const editions = sqliteEditions(database, clock)
  const touchHistories = historyRows(database)
  const put = putToken(database)
  const forget = sqliteForgetting(database, clock)

  function last(): LastChange {
    const { version = 0, at = 0 } = sql.last.first() ?? {}
    return { version: Number(version), changedAt: typeof at === 'number' ? at : 0 }
  }

  function readHead(): Head {
    const row = sql.settings.first()
    const settings = row === undefined ? null : records.settings.read('', row)
    return { ...last(), settings: settings ?? { version: 0, value: {} } }
  }

  function readOverrides<T>(
    { some }: OverridesTable,
    list: RecordList<Row, Versioned<T>>,
    from: string | null,
  ): OverridesStep<T> {
    const rows = some.all(from ?? '')
    const last = rows.length === STEP ? rows.at(-1)?.id : null
    return { overrides: overridesIn(list, rows), next: typeof last === 'string' ? last : null }
  }

  async function readEdition<T>(
    edition: number,
    { ofEdition }: OverridesTable,
    list: RecordList<Row, Versioned<T>>,
  ): Promise<ReadonlyMap<string, Versioned<T>>> {
    const all = new Map<string, Versioned<T>>()
    for (let from: string | null = ''; from !== null; ) {
      const rows: Row[] = await attempt(() => ofEdition.all(edition, from as string))
      for (const [id, override] of overridesIn(list, rows)) all.set(id, override)
      const last: Row[string] | null | undefined = rows.length === STEP ? rows.at(-1)?.id : null
      from = typeof last === 'string' ? last : null
    }
    return all
  }

  /** What cannot be read counts as nothing. */
  function storedOf(change: Change): Versioned<unknown> | null {
    const read = (list: RecordList<Row, Versioned<unknown>>, id: string, row: Row | undefined) =>
      row === undefined ? null : list.read(id, row)
    if (change.kind === 'settings') return read(records.settings, '', sql.settings.first())
    if (change.kind === 'override') return read(records.ofUsers, change.user, sql.ofUsers.one.first(change.user))
    if (change.kind !== 'organisation_override') return null
    const { organisation } = change
    return read(records.ofOrganisations, organisation, sql.ofOrganisations.one.first(organisation))
  }

  function entriesIn(rows: readonly Row[]): AuditEntry[] {
    return records.audit.readAll(rows.map((row) => [nameOf(row.version), row]))
  }

  /** The newest, so many that can be read. */
  function newestOf(before: number | null, limit: number): AuditEntry[] {
    const entries: AuditEntry[] = []
    for (let from: number | bigint = before ?? MOST; entries.length < limit; ) {
      const rows = sql.audit.all(from, limit)
      entries.push(...entriesIn(rows))
      if (rows.length < limit) break
      from = rows.at(-1)?.version as number | bigint
    }
    return entries.slice(0, limit)
  }

  function override(
    { set, drop }: OverridesTable,
    id: string,
    version: number,
    change: Change & { to: unknown },
  ): void {
    if (change.to === null) drop.run(id)
    else set.run(id, version, jsonOf(change))
  }

  function apply(change: Change, version: number, known: Versioned<unknown> | null): Values {
    if (change.kind === 'quota_reset') return emptyWindows(change)
    if (change.kind === 'overrides') return { before: JSON.stringify(change.from), after: jsonOf(change) }
    if (change.kind === 'settings') sql.setSettings.run(version, jsonOf(change))
    else if (change.kind === 'reset') resetUser(change.user)
    else if (change.kind === 'user_forgotten') forget(change)
    else if (change.kind === 'override') override(sql.ofUsers, change.user, version, change)
    else if (change.kind === 'organisation_override') {
      override(sql.ofOrganisations, change.organisation, version, change)
    }
    for (const record of recordsIn(change)) put(record)
    return { before: JSON.stringify(known?.value ?? null), after: jsonOf(change) }
  }

  /** @returns used tokens by window before and after */
  function emptyWindows({ organisation, category, windows, all }: QuotaReset): Values {
    const now = clock()
    const scope = organisation === undefined ? 'global' : 'organisation'
    const id = organisation ?? ''
    const row = sql.shared.get(category, SCOPE_NUMBERS[scope], id) as { windows: Uint8Array } | undefined
    const counter = unpack(row?.windows)
    const { left, used } = empty(counter, windows, all, now)
    const histories = touchHistories()
    replaceCounter({ scope, id, category, counter }, running(left, now), now, histories)
    histories.writeBack()
    const none = Object.fromEntries(Object.keys(used).map((name) => [name, 0]))
    return { before: JSON.stringify(used), after: JSON.stringify(none) }
  }

  function resetUser(user: string): void {
    const now = clock()
    const histories = touchHistories()
    const rows = sql.windowsOf.all(user) as unknown as { category: string; windows: Uint8Array }[]
    for (const { category, windows } of rows) {
      const counter = unpack(windows)
      const { left } = empty(counter, [], true, now)
      replaceCounter({ scope: 'personal', id: user, category, counter }, left, now, histories)
    }
    histories.writeBack()
  }

  /** @param left what goes on of the counter; the rest goes into the history */
  function replaceCounter(
    { scope, id, category, counter }: Place,
    left: Counter,
    now: number,
    histories: TouchedHistories,
  ): void {
    const kept = keptOf(retention(), scope, id)
    if (kept !== null && scope !== 'global') {
      histories.add(scope, id, category, endedRuns(counter, left, kept), kept, now)
    }
    const place = [category, SCOPE_NUMBERS[scope], id]
    const keptMs = kept === null ? 0 : longestKept(kept) * 1000
    if (left.length === 0) sql.dropCounter.run(...place)
    else sql.setCounter.run(pack(left), endsAt(left) + keptMs, ...place)
  }

  function changeNow(change: Change, author: Author, expected: number | null): Changed {
    const known = storedOf(change)
    const has = known?.version ?? 0
    if (hasVersion(change) && expected !== null && expected !== has) return { done: false, version: has }
    const before = last().version
    if (change.kind === 'overrides') {
      const { staged, count, organisations, base } = change
      if (!editions.use(staged, count + organisations, base === before ? before + 1 : null))
        return { done: false, version: before }
    }
    return makeNow(change, change.kind === 'user_forgotten' ? authorWithout(author, change) : author, before + 1, known)
  }

  function makeNow(change: Change, { who, why }: Author, version: number, known: Versioned<unknown> | null): Changed {
    const { before, after } = apply(change, version, known)
    const row = { version, at: clock(), who, what: change.kind, subject: subjectOf(change), why }
    sql.addEntry.run(row.version, row.at, row.who, row.what, row.subject, before, after, row.why)
    const { changes: forgotten } = sql.forget.run(version - bounds.newest, bounds.olderOfKind)
    const entry = { ...row, from: JSON.parse(before), to: JSON.parse(after) }
    return { done: true, entry, forgotten: Number(forgotten) }
  }

  return {
    controlVersion: () => attempt(() => ({ ...last(), at: clock() })),

    readControl: () =>
      readInSteps(
        () => attempt(() => reading(readHead)),
        (from) => attempt(() => readOverrides(sql.ofUsers, records.ofUsers, from)),
        (from) => attempt(() => readOverrides(sql.ofOrganisations, records.ofOrganisations, from)),
      ),

    changesSince: (from) => attempt(() => changesAfter(from, entriesIn(sql.from.all(from.version)))),

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
        overrides: await readEdition(edition, sql.ofUsers, records.ofUsers),
        organisationOverrides: await readEdition(edition, sql.ofOrganisations, records.ofOrganisations),
      }
    },

    readAudit: (before, limit) => attempt(() => newestOf(before, limit)),

    forgottenChanges: () => attempt(() => (sql.forgotten.get() as { changes: number }).changes),

    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** The highest number of SQLite. */
const MOST = 2n ** 63n - 1n

/** Numbers of changes that can be counted on. */
const OF_OURS = `version BETWEEN 1 AND ${Number.MAX_SAFE_INTEGER - 1}`

const SETTINGS = 'SELECT version, value FROM settings'

function prepare(database: DatabaseSync) {
  return {
    last: rowsOf(database, `SELECT version, at FROM audit WHERE ${OF_OURS} ORDER BY version DESC LIMIT 1`),
    settings: rowsOf(database, SETTINGS),
    setSettings: database.prepare('INSERT OR REPLACE INTO settings (id, version, value) VALUES (1, ?, ?)'),
    ofUsers: overridesTable(database, 'overrides', 'user'),
    ofOrganisations: overridesTable(database, 'organisation_overrides', 'organisation'),
    windowsOf: database.prepare('SELECT category, windows FROM counters WHERE scope = 0 AND user = ?'),
    shared: database.prepare('SELECT windows FROM counters WHERE category = ? AND scope = ? AND user = ?'),
    setCounter: database.prepare(
      'UPDATE counters SET windows = ?, ends = ? WHERE category = ? AND scope = ? AND user = ?',
    ),
    dropCounter: database.prepare('DELETE FROM counters WHERE category = ? AND scope = ? AND user = ?'),
    addEntry: database.prepare(
      'INSERT INTO audit (version, at, who, what, subject, before, after, why) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    // Of those that are older than the newest, each kind keeps as many.
    forget: database.prepare(
      `DELETE FROM audit WHERE version IN (
         SELECT version FROM (
           SELECT version, row_number() OVER (PARTITION BY what ORDER BY version DESC) AS place FROM audit WHERE version <= ?
         ) WHERE place > ?
       )`,
    ),
    forgotten: database.prepare(`SELECT coalesce(max(version), 0) - count(*) AS changes FROM audit WHERE ${OF_OURS}`),
    from: rowsOf(database, `SELECT * FROM audit WHERE version >= ? ORDER BY version LIMIT ${CHANGES_READ}`),
    audit: rowsOf(database, 'SELECT * FROM audit WHERE version < ? ORDER BY version DESC LIMIT ?'),
  }
}

type OverridesTable = ReturnType<typeof overridesTable>

function overridesTable(database: DatabaseSync, table: string, key: string) {
  const some = (edition: string) =>
    `SELECT ${key} AS id, version, value FROM ${table} WHERE edition = ${edition} AND ${key} > ? ORDER BY ${key} LIMIT ${STEP}`
  return {
    ofEdition: rowsOf(database, some('?')),
    one: rowsOf(database, `SELECT version, value FROM ${table} WHERE edition = ${IN_FORCE} AND ${key} = ?`),
    some: rowsOf(database, some(IN_FORCE)),
    set: database.prepare(
      `INSERT OR REPLACE INTO ${table} (edition, ${key}, version, value) VALUES (${IN_FORCE}, ?, ?, ?)`,
    ),
    drop: database.prepare(`DELETE FROM ${table} WHERE edition = ${IN_FORCE} AND ${key} = ?`),
  }
}

/** A counter, and whose it is. */
interface Place {
  readonly scope: HistoryScope | 'global'
  readonly id: string
  readonly category: string
  readonly counter: Counter
}

/** Before and after a change, as JSON. */
interface Values {
  readonly before: string
  readonly after: string
}

/** What is changed at run time, record by record. */
export function controlRecords(database: DatabaseSync, records: Records) {
  const settings = rowsOf(database, SETTINGS)
  const ofUser = rowsOf(database, `SELECT version, value FROM overrides WHERE edition = ${IN_FORCE} AND user = ?`)
  const ofOrganisation = rowsOf(
    database,
    `SELECT version, value FROM organisation_overrides WHERE edition = ${IN_FORCE} AND organisation = ?`,
  )
  const entry = rowsOf(database, 'SELECT * FROM audit WHERE version = ?')
  return {
    settings: records.list({
      kind: 'settings',
      list: 'settings',
      parse: versionedBy(changesOf),
      look: () => settings.first(),
    }),
    ofUsers: records.list({
      kind: 'override',
      list: 'overrides',
      parse: versionedBy(userOverrideOf),
      look: (user) => ofUser.first(user),
    }),
    ofOrganisations: records.list({
      kind: 'organisation_override',
      list: 'organisation_overrides',
      parse: versionedBy(organisationOverrideOf),
      look: (id) => ofOrganisation.first(id),
    }),
    audit: records.list({
      kind: 'audit_entry',
      list: 'audit',
      parse: ({ before, after, ...row }: Row) => auditEntryOf({ ...row, from: jsonIn(before), to: jsonIn(after) }),
      look: (version) => entry.first(version),
    }),
  }
}

export function overridesIn<T>(list: RecordList<Row, Versioned<T>>, rows: readonly Row[]) {
  return rows.flatMap((row) => {
    const override = list.read(nameOf(row.id), row)
    return override === null ? [] : [[nameOf(row.id), override] as const]
  })
}

function versionedBy<T>(parse: (value: unknown) => T | null): (row: Row) => Versioned<T> | null {
  return ({ version, value: text }) => {
    const value = typeof version === 'number' ? parse(jsonIn(text)) : null
    return value === null ? null : { version: version as number, value }
  }
}

/** @throws SyntaxError */
function jsonIn(text: Row[string] | undefined): unknown {
  return JSON.parse(String(text))
}
