import type { DatabaseSync } from 'node:sqlite'
import { type MembershipStore, namedByOrganisation, namesNothing } from '../../quota/memberships.ts'
import type { Payer } from '../../quota/policy.ts'
import { membershipOf, namedOf } from '../record-forms.ts'
import type { RecordList, Records } from '../records.ts'
import { attempt, transactions } from './database.ts'
import { type Row, type RowQuery, rowsOf } from './rows.ts'

export function membershipRecords(database: DatabaseSync, lists: Records, clock: () => number) {
  const find = rowsOf(database, FIND)
  return lists.list({
    kind: 'membership',
    list: 'memberships',
    parse: membershipOf,
    look: (user) => find.first(user, clock()),
  })
}

export function namedRecords(database: DatabaseSync, lists: Records, clock: () => number) {
  const find = rowsOf(database, FIND_NAMED)
  return lists.list({
    kind: 'membership',
    list: 'organisations_named',
    parse: namedOf,
    look: (organisation) => find.first(organisation, clock()),
  })
}

const FIND = 'SELECT plan, organisation, period_day AS periodDay FROM memberships WHERE user = ? AND ends > ?'
const FIND_NAMED = 'SELECT plan, period_day AS periodDay FROM organisations_named WHERE organisation = ? AND ends > ?'
const PUT_MEMBERSHIP =
  'INSERT OR REPLACE INTO memberships (user, plan, organisation, period_day, ends) VALUES (?, ?, ?, ?, ?)'
const PUT_NAMED =
  'INSERT OR REPLACE INTO organisations_named (organisation, plan, period_day, ends) VALUES (?, ?, ?, ?)'

export function sqliteMemberships(database: DatabaseSync, lists: Records, clock: () => number): MembershipStore {
  const { writing } = transactions(database)
  const sql = {
    find: rowsOf(database, FIND),
    forget: database.prepare('DELETE FROM memberships WHERE user = ?'),
    note: database.prepare(PUT_MEMBERSHIP),
    findNamed: rowsOf(database, FIND_NAMED),
    forgetNamed: database.prepare('DELETE FROM organisations_named WHERE organisation = ?'),
    noteNamed: database.prepare(PUT_NAMED),
  }

  const members = membershipRecords(database, lists, clock)
  const named = namedRecords(database, lists, clock)

  function noteNow(payers: readonly Payer[], ends: number): void {
    for (const payer of payers) {
      const { user, plan, organisation, periodDay = null } = payer
      if (namesNothing(payer)) sql.forget.run(user)
      else sql.note.run(user, plan, organisation, periodDay, ends)
    }
    for (const [organisation, last] of namedByOrganisation(payers)) {
      if (last === null) sql.forgetNamed.run(organisation)
      else sql.noteNamed.run(organisation, last.plan, last.periodDay ?? null, ends)
    }
  }

  function read<T>(query: RowQuery, records: RecordList<Row, T>, ids: readonly string[]): (T | null)[] {
    const now = clock()
    return ids.map((id) => {
      const row = query.first(id, now)
      return row === undefined ? null : records.read(id, row)
    })
  }

  return {
    noteMemberships: (payers, rememberMs) => attempt(() => writing(() => noteNow(payers, clock() + rememberMs))),
    readMemberships: (users) => attempt(() => read(sql.find, members, users)),
    readNamed: (organisations) => attempt(() => read(sql.findNamed, named, organisations)),
  }
}
