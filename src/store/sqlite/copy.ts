import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import { BUCKET_MS, BUCKETS, bucketStart } from '../../failures/histogram.ts'
import type { Observer } from '../../observe/observation.ts'
import { type Counter, endsAt } from '../../quota/counter.ts'
import { KEEP_EPISODES_MS } from '../../usage/episodes.ts'
import { packCounts } from '../../usage/series.ts'
import { type Copyable, type Lists, lastingOf, type Owner, type Portion, portionOf, type Refill } from '../copy.ts'
import { COPIED_LISTS, endingRecords } from '../endings.ts'
import { packedHistoryEnds } from '../packed-history.ts'
import { pack, unpack } from '../packed-value.ts'
import { createRecords, type Records } from '../records.ts'
import { putToken, tokenRecords } from './access-keys.ts'
import { controlRows } from './control.ts'
import { SCOPE_NUMBERS, scopeOf } from './counter-rows.ts'
import { attempt, openDatabase } from './database.ts'
import { IN_FORCE } from './editions.ts'
import { sqliteEndings } from './endings.ts'
import { COLUMNS, failureRecords } from './failures.ts'
import { keptStates } from './history.ts'
import { sqliteReplicas } from './replicas.ts'
import { nameOf, type Row, rowsOf } from './rows.ts'
import { usageRecords } from './usage-log.ts'

/** How many rows a portion has. */
const STEP = 500

/**
 * A file of the embedded store, to be copied. It is read as it was at one moment, even while a gateway uses it. It is filled
 * in one transaction, so that a copy that breaks off leaves the file unchanged.
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
    const put = putting(database, records)
    return {
      mark: null,
      clear: async () => {
        for (const table of FILLED) await attempt(() => database.exec(`DELETE FROM ${table}`))
        await attempt(() => database.exec('DELETE FROM editions WHERE ends IS NOT NULL'))
        for (const list of COPIED_LISTS)
          await attempt(() => database.exec(`DELETE FROM endings WHERE list = '${list}'`))
      },
      put: ({ kind, entries }) => attempt(() => void entries.forEach(put[kind] as (entry: unknown) => void)),
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
    // Closing rolls back an open transaction.
    close: async () => database.close(),
  }
}

const FILLED = [
  'counters',
  'history',
  'forgotten',
  'forgotten_salt',
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
  for (const { kind, sql, values, read } of rowLists(database, records, now)) {
    for await (const rows of inSteps<Row>(database, sql, values)) yield* portionOf(kind, await read(rows))
  }
}

/** The rows of each list, with the records that can be read. */
function rowLists(database: DatabaseSync, records: Records, now: number) {
  const list = <K extends keyof Lists>(
    kind: K,
    sql: string,
    values: number[],
    read: (rows: readonly Row[]) => readonly Lists[K][] | Promise<readonly Lists[K][]>,
  ) => ({ kind, sql, values, read: read as (rows: readonly Row[]) => Promise<readonly never[]> })
  const control = controlRows(database, records)
  const usage = usageRecords(database, records)
  const remembered = endingRecords(
    sqliteEndings(database, () => now),
    records,
  )
  const tokens = tokenRecords(database, records)
  const failures = failureRecords(database, records)
  const since = bucketStart(now) - (BUCKETS - 1) * BUCKET_MS
  const series = `series WHERE zone <> '' OR start >= ?`
  return [
    ...COPIED_LISTS.map((name) =>
      list(name, `SELECT id, text, ends FROM endings WHERE list = '${name}' AND ends > ?`, [now], (rows) =>
        rows
          .map(({ id, text, ends }) => ({ id: nameOf(id), text: String(text), ends: Number(ends) }))
          .filter(({ id, text }) => remembered[name].read(id, text) !== null),
      ),
    ),
    list('counted', 'SELECT name, since FROM counted WHERE EXISTS (SELECT 1 FROM counters)', [], (rows) => [
      {
        since: new Map(rows.map((row) => [nameOf(row.name), Number(row.since)])),
        keeping: keptStates(database).read(),
      },
    ]),
    list('tokens', 'SELECT * FROM tokens', [], (rows) => tokens.readAll(rows.map((row) => [nameOf(row.hash), row]))),
    list('settings', 'SELECT 1 FROM settings', [], () => [control.settings.read()].filter((one) => one !== null)),
    list('overrides', inForce('overrides', 'user'), [], control.users.readable),
    list(
      'organisationOverrides',
      inForce('organisation_overrides', 'organisation'),
      [],
      control.organisations.readable,
    ),
    list('grants', 'SELECT * FROM grants', [], control.grants.readable),
    list('audit', 'SELECT * FROM audit ORDER BY version', [], control.audit.readable),
    list('failures', `SELECT ${COLUMNS} FROM failures WHERE start >= ? ORDER BY start`, [since], (rows) =>
      failures.readAll(rows.map((row) => [nameOf(row.start), row])),
    ),
    list('series', `SELECT * FROM ${series}`, [since], usage.series),
    list('silences', `SELECT 1 FROM ${series} LIMIT 1`, [since], sqliteReplicas(database, () => now).readSilences),
    list('refusals', 'SELECT id, episode FROM refusals WHERE last > ?', [now - KEEP_EPISODES_MS], usage.refusals),
  ]
}

function inForce(table: string, key: string): string {
  return `SELECT ${key} AS id, version, value FROM ${table} WHERE edition = ${IN_FORCE}`
}

/** All rows of a query in steps, with the event loop free in between. */
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

/** The rows of one user or organisation follow each other. */
const COUNTERS = `SELECT scope, user, category, windows, ends FROM counters WHERE ends > ?
  ORDER BY scope, user, category`

/** The histories of owners without counters. The text contains the number of the scope, because a partial index needs it. */
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
    yield* portionOf('counters', whole.splice(0))
  }
  if (open !== null) close(open)
  yield* portionOf('counters', whole.splice(0))
  for (const scope of [SCOPE_NUMBERS.personal, SCOPE_NUMBERS.organisation]) {
    for await (const rows of inSteps<HistoryRow>(database, histories(scope), [now])) {
      const alone = rows.map(({ user, runs, ends }) => ({
        ...{ scope: scopeOf(scope), id: user, counters: new Map(), history: runs, ends },
      }))
      yield* portionOf('counters', alone)
    }
  }
}

/** How an entry of each list is written. */
function putting(database: DatabaseSync, records: Records): { readonly [K in keyof Lists]: (entry: Lists[K]) => void } {
  const into = (table: string, columns: string) => {
    const places = columns.replace(/\w+/g, '?')
    const sql = database.prepare(`INSERT OR REPLACE INTO ${table} (${columns}) VALUES (${places})`)
    return (...values: SQLInputValue[]): void => void sql.run(...values)
  }
  const control = controlRows(database, records)
  const kept = keptStates(database)
  const counter = into('counters', 'scope, category, user, windows, ends')
  const before = into('history', 'scope, user, runs, ends')
  const ending = into('endings', 'list, id, text, ends')
  const counted = into('counted', 'name, since')
  const entry = into('audit', 'version, at, who, what, subject, before, after, why, vain')
  const bucket = into('failures', 'start, total, status0, status5xx, status4xx, aside, aside_failed')
  const series = into('series', 'kind, zone, start, name, counts')
  const silence = into('silences', 'instance, since, until')
  const refusal = into('refusals', 'id, last, episode')
  return {
    counters({ scope, id, counters, history, ends = 0 }) {
      for (const [category, windows] of counters) {
        counter(SCOPE_NUMBERS[scope], category, id, pack(windows), Math.max(ends, endsAt(windows)))
      }
      if (history !== undefined) before(SCOPE_NUMBERS[scope], id, history, packedHistoryEnds(Buffer.from(history)))
    },
    known: ({ id, text, ends }) => ending('known', id, text, ends),
    member: ({ id, text, ends }) => ending('member', id, text, ends),
    named: ({ id, text, ends }) => ending('named', id, text, ends),
    counted({ since, keeping }) {
      for (const [name, at] of since) counted(name, at)
      kept.note(keeping)
    },
    tokens: putToken(database),
    settings: ({ version, value }) => control.settings.put(version, JSON.stringify(value)),
    overrides: ([user, { version, value }]) => control.users.put(user, version, JSON.stringify(value)),
    organisationOverrides: ([id, { version, value }]) => control.organisations.put(id, version, JSON.stringify(value)),
    grants: ([id, { version, value }]) => control.grants.put(id, version, JSON.stringify(value)),
    audit({ version, at, who, what, subject, from, to, why, vain }) {
      const values = [JSON.stringify(from), JSON.stringify(to), why, vain === undefined ? null : JSON.stringify(vain)]
      entry(version, at, who, what, subject, ...values)
    },
    series: ({ by, start, zone, name, counts }) => series(by, zone ?? '', start, name, packCounts(counts)),
    silences: ({ from, to }) => silence(`copied ${from} ${to}`, from, to),
    refusals: ({ id, ...episode }) => refusal(id, episode.last, JSON.stringify(episode)),
    failures: ({ start, total, status0, status5xx, status4xx, aside, asideFailed }) =>
      bucket(start, total, status0, status5xx, status4xx, aside, asideFailed),
  }
}
