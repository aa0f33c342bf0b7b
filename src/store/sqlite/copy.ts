import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import { BUCKET_MS, BUCKETS, bucketStart } from '../../failures/histogram.ts'
import type { Observer } from '../../observe/observation.ts'
import { type Counter, endsAt } from '../../quota/counter.ts'
import { KEEP_EPISODES_MS } from '../../usage/episodes.ts'
import { packCounts } from '../../usage/series.ts'
import { type Copyable, lastingOf, type Owner, type Portion, type Refill } from '../copy.ts'
import { packedHistoryEnds } from '../packed-history.ts'
import { pack, unpack } from '../packed-value.ts'
import { createRecords, type Records } from '../records.ts'
import { putToken, tokenRecords } from './access-keys.ts'
import { controlRows } from './control.ts'
import { SCOPE_NUMBERS, scopeOf } from './counter-rows.ts'
import { attempt, openDatabase } from './database.ts'
import { IN_FORCE } from './editions.ts'
import { COLUMNS, failureRecords } from './failures.ts'
import { keptStates } from './history.ts'
import { knownUserRecords } from './known-users.ts'
import { membershipRecords, namedRecords, PUT_MEMBERSHIP, PUT_NAMED } from './memberships.ts'
import { sqliteReplicas } from './replicas.ts'
import { nameOf, type Row, rowsOf } from './rows.ts'
import { usageRecords } from './usage-log.ts'

/** Rows of one portion. */
const STEP = 500

/**
 * A file of the embedded store, to be copied. It is read as it was at one moment, also while a gateway uses it. It is filled
 * in one transaction: whatever ends that leaves the file as it was.
 * @param clock milliseconds since the epoch. Default: the process clock
 */
export function openSqliteCopyable(
  file: string,
  clock: () => number = Date.now,
  observe: Observer = () => {},
): Copyable {
  const database = openDatabase(file)
  const records = createRecords(observe)
  const { listReplicas } = sqliteReplicas(database, clock)

  async function* portions(): AsyncGenerator<Portion, void> {
    await attempt(() => database.exec('BEGIN'))
    try {
      yield* reading(database, records, clock())
    } finally {
      database.exec('ROLLBACK')
    }
  }

  async function refill(): Promise<Refill> {
    await attempt(() => database.exec('BEGIN IMMEDIATE'))
    const put = putting(database)
    return {
      mark: null,
      clear: async () => {
        for (const table of FILLED) await attempt(() => database.exec(`DELETE FROM ${table}`))
        await attempt(() => database.exec('DELETE FROM editions WHERE ends IS NOT NULL'))
      },
      put: (portion) => attempt(() => put(portion)),
      done: () => attempt(() => database.exec('COMMIT')),
      abandon: () => attempt(() => database.exec('ROLLBACK')),
    }
  }

  return {
    ping: async () => {
      await attempt(() => database.prepare('SELECT 1').get())
    },
    listReplicas,
    portions,
    refill,
    unfinished: async () => null,
    // A transaction that is open is rolled back.
    close: async () => database.close(),
  }
}

const FILLED = [
  'counters',
  'history',
  'known_users',
  'forgotten',
  'forgotten_salt',
  'memberships',
  'organisations_named',
  'counted',
  'kept',
  'failures',
  'series',
  'silences',
  'refusals',
  'tokens',
  'settings',
  'overrides',
  'organisation_overrides',
  'grants',
  'audit',
] as const

async function* reading(database: DatabaseSync, records: Records, now: number): AsyncGenerator<Portion, void> {
  yield* owners(database, now)
  for await (const portion of readable(database, records, now)) if (!isEmptyPortion(portion)) yield portion
}

/** What is read record by record. A portion may have none that can be read. */
async function* readable(database: DatabaseSync, records: Records, now: number): AsyncGenerator<Portion, void> {
  const rows = (sql: string, ...values: number[]) => inSteps<Row>(database, sql, values)
  const control = controlRows(database, records)
  const usage = usageRecords(database, records)
  const known = knownUserRecords(database, records)
  for await (const some of rows('SELECT * FROM known_users WHERE ends > ?', now)) {
    yield { kind: 'known', users: known.readAll(some.map((row) => [nameOf(row.user), row])) }
  }
  const memberships = membershipRecords(database, records, () => now)
  for await (const some of rows('SELECT *, period_day AS periodDay FROM memberships WHERE ends > ?', now)) {
    const members = some.flatMap((row) => {
      const [user, membership] = [nameOf(row.user), memberships.read(nameOf(row.user), row)]
      return membership === null ? [] : [{ ...membership, user, ends: Number(row.ends) }]
    })
    yield { kind: 'memberships', members }
  }
  const ofOrganisations = namedRecords(database, records, () => now)
  for await (const some of rows('SELECT *, period_day AS periodDay FROM organisations_named WHERE ends > ?', now)) {
    const organisations = some.flatMap((row) => {
      const [organisation, named] = [nameOf(row.organisation), ofOrganisations.read(nameOf(row.organisation), row)]
      return named === null ? [] : [{ ...named, organisation, ends: Number(row.ends) }]
    })
    yield { kind: 'named', organisations }
  }
  for await (const some of rows('SELECT name, since FROM counted WHERE EXISTS (SELECT 1 FROM counters)')) {
    const since = new Map(some.map((row) => [nameOf(row.name), Number(row.since)]))
    yield { kind: 'counted', since, keeping: keptStates(database).read() }
  }
  const tokens = tokenRecords(database, records)
  for await (const some of rows('SELECT * FROM tokens')) {
    yield { kind: 'tokens', records: tokens.readAll(some.map((row) => [nameOf(row.hash), row])) }
  }
  const settings = control.settings.read()
  if (settings !== null) yield { kind: 'settings', settings }
  for await (const some of rows(OVERRIDES)) {
    yield { kind: 'overrides', overrides: control.users.readable(some) }
  }
  for await (const some of rows(ORGANISATION_OVERRIDES)) {
    yield { kind: 'organisation_overrides', overrides: control.organisations.readable(some) }
  }
  for await (const some of rows('SELECT * FROM grants')) {
    yield { kind: 'grants', grants: control.grants.readable(some) }
  }
  for await (const some of rows('SELECT * FROM audit ORDER BY version')) {
    yield { kind: 'audit', entries: control.audit.readable(some) }
  }
  const since = bucketStart(now) - (BUCKETS - 1) * BUCKET_MS
  const failures = failureRecords(database, records)
  for await (const some of rows(`SELECT ${COLUMNS} FROM failures WHERE start >= ? ORDER BY start`, since)) {
    yield { kind: 'failures', buckets: failures.readAll(some.map((row) => [nameOf(row.start), row])) }
  }
  let hasSeries = false
  for await (const some of rows("SELECT * FROM series WHERE zone <> '' OR start >= ?", since)) {
    hasSeries = true
    yield { kind: 'series', entries: usage.series(some) }
  }
  if (hasSeries) yield { kind: 'silences', silences: await sqliteReplicas(database, () => now).readSilences() }
  for await (const some of rows('SELECT id, episode FROM refusals WHERE last > ?', now - KEEP_EPISODES_MS)) {
    yield { kind: 'refusals', episodes: usage.refusals(some) }
  }
}

function isEmptyPortion(portion: Portion): boolean {
  return Object.values(portion).some((value) => Array.isArray(value) && value.length === 0)
}

const OVERRIDES = `SELECT user AS id, version, value FROM overrides WHERE edition = ${IN_FORCE}`
const ORGANISATION_OVERRIDES = `SELECT organisation AS id, version, value FROM organisation_overrides WHERE edition = ${IN_FORCE}`

/** All rows of a query, some at a time, with the event loop free in between. */
async function* inSteps<R>(database: DatabaseSync, sql: string, values: number[]): AsyncGenerator<R[], void> {
  let some: R[] = []
  for (const row of rowsOf(database, sql).each(...values)) {
    some.push(row as unknown as R)
    if (some.length < STEP) continue
    yield some
    some = []
    await turn()
  }
  if (some.length > 0) yield some
}

interface CounterRow {
  readonly scope: number
  readonly user: string
  readonly category: string
  readonly windows: Uint8Array
  readonly ends: number
}

/** The rows of a user, and of an organisation, follow each other. */
const COUNTERS = `SELECT scope, user, category, windows, ends FROM counters WHERE ends > ?
  ORDER BY scope, user, category`

/** Of whom there are no counters. The number of the scope stands in the text, for the index of some rows. */
const histories = (scope: number): string => `SELECT scope, user, runs, ends FROM history
  WHERE ends > ? AND scope = ${scope} AND user NOT IN (SELECT user FROM counters WHERE scope = ${scope})`

interface HistoryRow {
  readonly scope: number
  readonly user: string
  readonly runs: Uint8Array
  readonly ends: number
}

type Open = Omit<Owner, 'counters' | 'ends'> & { readonly counters: Map<string, Counter>; ends: number }

async function* owners(database: DatabaseSync, now: number): AsyncGenerator<Portion, void> {
  const history = database.prepare('SELECT runs, ends FROM history WHERE scope = ? AND user = ?')
  const whole: Owner[] = []

  function close({ scope, id, counters, ends }: Open): void {
    const row = history.get(SCOPE_NUMBERS[scope], id) as Pick<HistoryRow, 'runs' | 'ends'> | undefined
    const lasting = lastingOf(counters, ends, now)
    if (lasting.size === 0 && row === undefined) return
    whole.push({
      ...{ scope, id, counters: lasting, ends: Math.max(ends, row?.ends ?? 0) },
      ...(row !== undefined && { history: row.runs }),
    })
  }

  let open: Open | null = null
  for await (const rows of inSteps<CounterRow>(database, COUNTERS, [now])) {
    for (const { scope: number, user: id, category, windows, ends } of rows) {
      const scope = scopeOf(number)
      if (open === null || open.scope !== scope || open.id !== id) {
        if (open !== null) close(open)
        open = { scope, id, counters: new Map(), ends }
      }
      open.counters.set(category, unpack(windows))
      open.ends = Math.max(open.ends, ends)
    }
    if (whole.length > 0) yield { kind: 'counters', owners: whole.splice(0) }
  }
  if (open !== null) close(open)
  if (whole.length > 0) yield { kind: 'counters', owners: whole.splice(0) }
  for (const scope of [SCOPE_NUMBERS.personal, SCOPE_NUMBERS.organisation]) {
    for await (const rows of inSteps<HistoryRow>(database, histories(scope), [now])) {
      const alone = rows.map(({ user, runs, ends }) => ({
        ...{ scope: scopeOf(scope), id: user, counters: new Map(), history: runs, ends },
      }))
      yield { kind: 'counters', owners: alone }
    }
  }
}

function putting(database: DatabaseSync): (portion: Portion) => void {
  const counter = database.prepare(
    'INSERT OR REPLACE INTO counters (scope, category, user, windows, ends) VALUES (?, ?, ?, ?, ?)',
  )
  const before = database.prepare('INSERT OR REPLACE INTO history (scope, user, runs, ends) VALUES (?, ?, ?, ?)')
  const known = database.prepare('INSERT OR REPLACE INTO known_users (user, first, ends) VALUES (?, ?, ?)')
  const member = database.prepare(PUT_MEMBERSHIP)
  const ofOrganisation = database.prepare(PUT_NAMED)
  const counted = database.prepare('INSERT OR REPLACE INTO counted (name, since) VALUES (?, ?)')
  const kept = keptStates(database)
  const token = putToken(database)
  const settings = database.prepare('INSERT OR REPLACE INTO settings (id, version, value) VALUES (1, ?, ?)')
  const override = database.prepare(
    `INSERT OR REPLACE INTO overrides (edition, user, version, value) VALUES (${IN_FORCE}, ?, ?, ?)`,
  )
  const organisationOverride = database.prepare(
    `INSERT OR REPLACE INTO organisation_overrides (edition, organisation, version, value) VALUES (${IN_FORCE}, ?, ?, ?)`,
  )
  const grant = database.prepare('INSERT OR REPLACE INTO grants (id, version, value) VALUES (?, ?, ?)')
  const entry = database.prepare(
    `INSERT OR REPLACE INTO audit (version, at, who, what, subject, before, after, why, vain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const bucket = database.prepare(
    `INSERT OR REPLACE INTO failures (start, total, status0, status5xx, status4xx, aside, aside_failed) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )

  const series = database.prepare(
    'INSERT OR REPLACE INTO series (kind, zone, start, name, counts) VALUES (?, ?, ?, ?, ?)',
  )
  const silence = database.prepare('INSERT OR REPLACE INTO silences (instance, since, until) VALUES (?, ?, ?)')
  const refusal = database.prepare('INSERT OR REPLACE INTO refusals (id, last, episode) VALUES (?, ?, ?)')

  function putOwner({ scope, id, counters, history, ends = 0 }: Owner): void {
    for (const [category, windows] of counters) {
      counter.run(SCOPE_NUMBERS[scope], category, id, pack(windows), Math.max(ends, endsAt(windows)))
    }
    if (history !== undefined) {
      before.run(SCOPE_NUMBERS[scope], id, history, packedHistoryEnds(Buffer.from(history)))
    }
  }

  return function put(portion) {
    if (portion.kind === 'counters') portion.owners.forEach(putOwner)
    else if (portion.kind === 'known') for (const { user, first, ends } of portion.users) known.run(user, first, ends)
    else if (portion.kind === 'memberships') {
      for (const { user, plan, organisation, periodDay = null, ends } of portion.members)
        member.run(user, plan, organisation, periodDay, ends)
    } else if (portion.kind === 'named') {
      for (const { organisation, plan, periodDay = null, ends } of portion.organisations)
        ofOrganisation.run(organisation, plan, periodDay, ends)
    } else if (portion.kind === 'counted') {
      for (const [name, since] of portion.since) counted.run(name, since)
      kept.note(portion.keeping)
    } else if (portion.kind === 'tokens') portion.records.forEach(token)
    else if (portion.kind === 'settings') settings.run(portion.settings.version, JSON.stringify(portion.settings.value))
    else if (portion.kind === 'overrides') {
      for (const [user, { version, value }] of portion.overrides) override.run(user, version, JSON.stringify(value))
    } else if (portion.kind === 'organisation_overrides') {
      for (const [id, { version, value }] of portion.overrides)
        organisationOverride.run(id, version, JSON.stringify(value))
    } else if (portion.kind === 'grants') {
      for (const [id, { version, value }] of portion.grants) grant.run(id, version, JSON.stringify(value))
    } else if (portion.kind === 'audit') {
      for (const { version, at, who, what, subject, from, to, why, vain } of portion.entries) {
        const [before, after] = [JSON.stringify(from), JSON.stringify(to)]
        entry.run(version, at, who, what, subject, before, after, why, vain === undefined ? null : JSON.stringify(vain))
      }
    } else if (portion.kind === 'series') {
      for (const { by, start, zone, name, counts } of portion.entries) {
        series.run(by, zone ?? '', start, name, packCounts(counts))
      }
    } else if (portion.kind === 'silences') {
      portion.silences.forEach(({ from, to }, i) => {
        silence.run(`copied-${i}`, from, to)
      })
    } else if (portion.kind === 'refusals') {
      for (const { id, ...episode } of portion.episodes) refusal.run(id, episode.last, JSON.stringify(episode))
    } else {
      for (const { start, total, status0, status5xx, status4xx, aside, asideFailed } of portion.buckets) {
        bucket.run(start, total, status0, status5xx, status4xx, aside, asideFailed)
      }
    }
  }
}
