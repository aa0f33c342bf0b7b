import type { DatabaseSync } from 'node:sqlite'
import { organisationOverrideOf, userOverrideOf } from '../../control/record-forms.ts'
import type { OrganisationOverride, Packed, UserOverride, Versioned } from '../../control/state.ts'
import type { OverridesStep } from '../change-catch-up.ts'
import type { RecordList, Records } from '../records.ts'
import { IN_FORCE } from './editions.ts'
import { nameOf, type Row, rowsOf } from './rows.ts'
import { versionedBy } from './versioned.ts'

/** Overrides that one step reads. */
const STEP = 500

/** The overrides of users, or of organisations, of every edition. Its functions belong into a transaction. */
export interface OverrideRows<T> {
  /** One of those in force. `null` also for one that cannot be read. */
  one(id: string): Versioned<T> | null
  /** @param from where the last step ended; `null` begins @param edition default that in force */
  step(from: string | null, edition?: number): OverridesStep<T>
  /** Those that can be read. */
  readable(rows: readonly Row[]): [id: string, override: Versioned<T>][]
  /** @param json `null` takes it away */
  put(id: string, version: number, json: string | null): void
}

export function userOverrides(database: DatabaseSync, records: Records): OverrideRows<Packed<UserOverride>> {
  const find = findIn(database, 'overrides', 'user')
  const list = records.list({
    ...{ kind: 'override', list: 'overrides' },
    ...{ parse: versionedBy(userOverrideOf), look: (user: string) => find.first(user) },
  })
  return overrideRows(database, 'overrides', 'user', list)
}

export function organisationOverrides(
  database: DatabaseSync,
  records: Records,
): OverrideRows<Packed<OrganisationOverride>> {
  const find = findIn(database, 'organisation_overrides', 'organisation')
  const list = records.list({
    ...{ kind: 'organisation_override', list: 'organisation_overrides' },
    ...{ parse: versionedBy(organisationOverrideOf), look: (id: string) => find.first(id) },
  })
  return overrideRows(database, 'organisation_overrides', 'organisation', list)
}

function findIn(database: DatabaseSync, table: string, key: string) {
  return rowsOf(database, `SELECT version, value FROM ${table} WHERE edition = ${IN_FORCE} AND ${key} = ?`)
}

function overrideRows<T>(
  database: DatabaseSync,
  table: string,
  key: string,
  list: RecordList<Row, Versioned<T>>,
): OverrideRows<T> {
  const some = (edition: string) =>
    `SELECT ${key} AS id, version, value FROM ${table} WHERE edition = ${edition} AND ${key} > ? ORDER BY ${key} LIMIT ${STEP}`
  const find = findIn(database, table, key)
  const inForce = rowsOf(database, some(IN_FORCE))
  const ofEdition = rowsOf(database, some('?'))
  const set = database.prepare(
    `INSERT OR REPLACE INTO ${table} (edition, ${key}, version, value) VALUES (${IN_FORCE}, ?, ?, ?)`,
  )
  const drop = database.prepare(`DELETE FROM ${table} WHERE edition = ${IN_FORCE} AND ${key} = ?`)

  function readable(rows: readonly Row[]): [string, Versioned<T>][] {
    return rows.flatMap((row) => {
      const override = list.read(nameOf(row.id), row)
      return override === null ? [] : [[nameOf(row.id), override] as [string, Versioned<T>]]
    })
  }

  return {
    one(id) {
      const row = find.first(id)
      return row === undefined ? null : list.read(id, row)
    },
    step(from, edition) {
      const rows = edition === undefined ? inForce.all(from ?? '') : ofEdition.all(edition, from ?? '')
      const last = rows.length === STEP ? rows.at(-1)?.id : null
      return { overrides: readable(rows), next: typeof last === 'string' ? last : null }
    },
    readable,
    put: (id, version, json) => void (json === null ? drop.run(id) : set.run(id, version, json)),
  }
}
