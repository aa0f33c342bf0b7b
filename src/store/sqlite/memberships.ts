import type { DatabaseSync } from 'node:sqlite'
import { type Membership, type MembershipStore, plansByOrganisation } from '../../quota/memberships.ts'
import type { Payer } from '../../quota/policy.ts'
import { membershipOf } from '../record-forms.ts'
import type { Records } from '../records.ts'
import { attempt, transactions } from './database.ts'
import { rowsOf } from './rows.ts'

export function membershipRecords(database: DatabaseSync, lists: Records, clock: () => number) {
  const find = rowsOf(database, FIND)
  return lists.list({
    kind: 'membership',
    list: 'memberships',
    parse: membershipOf,
    look: (user) => find.first(user, clock()),
  })
}

const FIND = 'SELECT plan, organisation FROM memberships WHERE user = ? AND ends > ?'

export function sqliteMemberships(database: DatabaseSync, lists: Records, clock: () => number): MembershipStore {
  const { writing } = transactions(database)
  const sql = {
    find: rowsOf(database, FIND),
    forget: database.prepare('DELETE FROM memberships WHERE user = ?'),
    note: database.prepare('INSERT OR REPLACE INTO memberships (user, plan, organisation, ends) VALUES (?, ?, ?, ?)'),
    findPlan: rowsOf(database, 'SELECT plan FROM organisation_plans WHERE organisation = ? AND ends > ?'),
    forgetPlan: database.prepare('DELETE FROM organisation_plans WHERE organisation = ?'),
    notePlan: database.prepare('INSERT OR REPLACE INTO organisation_plans (organisation, plan, ends) VALUES (?, ?, ?)'),
  }

  const records = membershipRecords(database, lists, clock)

  function noteNow(payers: readonly Payer[], ends: number): void {
    for (const { user, plan, organisation } of payers) {
      if (plan === null && organisation === null) sql.forget.run(user)
      else sql.note.run(user, plan, organisation, ends)
    }
    for (const [organisation, plan] of plansByOrganisation(payers)) {
      if (plan === null) sql.forgetPlan.run(organisation)
      else sql.notePlan.run(organisation, plan, ends)
    }
  }

  function read(user: string, now: number): Membership | null {
    const row = sql.find.first(user, now)
    return row === undefined ? null : records.read(user, row)
  }

  function readPlan(organisation: string, now: number): string | null {
    const { plan } = sql.findPlan.first(organisation, now) ?? {}
    return typeof plan === 'string' ? plan : null
  }

  return {
    noteMemberships: (payers, rememberMs) => attempt(() => writing(() => noteNow(payers, clock() + rememberMs))),
    readMemberships: (users) => attempt(() => users.map((user) => read(user, clock()))),
    readPlans: (organisations) => attempt(() => organisations.map((each) => readPlan(each, clock()))),
  }
}
