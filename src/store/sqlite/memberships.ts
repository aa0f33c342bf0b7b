import type { DatabaseSync } from 'node:sqlite'
import { type Membership, type MembershipStore, plansByOrganisation } from '../../quota/memberships.ts'
import type { Payer } from '../../quota/policy.ts'
import { attempt, transactions } from './database.ts'

export function sqliteMemberships(database: DatabaseSync, clock: () => number): MembershipStore {
  const { writing } = transactions(database)
  const sql = {
    find: database.prepare('SELECT plan, organisation FROM memberships WHERE user = ? AND ends > ?'),
    forget: database.prepare('DELETE FROM memberships WHERE user = ?'),
    note: database.prepare('INSERT OR REPLACE INTO memberships (user, plan, organisation, ends) VALUES (?, ?, ?, ?)'),
    findPlan: database.prepare('SELECT plan FROM organisation_plans WHERE organisation = ? AND ends > ?'),
    forgetPlan: database.prepare('DELETE FROM organisation_plans WHERE organisation = ?'),
    notePlan: database.prepare('INSERT OR REPLACE INTO organisation_plans (organisation, plan, ends) VALUES (?, ?, ?)'),
  }

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
    const row = sql.find.get(user, now) as unknown as Membership | undefined
    return row === undefined ? null : { plan: row.plan, organisation: row.organisation }
  }

  function readPlan(organisation: string, now: number): string | null {
    const row = sql.findPlan.get(organisation, now) as { plan: string } | undefined
    return row?.plan ?? null
  }

  return {
    noteMemberships: (payers, rememberMs) => attempt(() => writing(() => noteNow(payers, clock() + rememberMs))),
    readMemberships: (users) => attempt(() => users.map((user) => read(user, clock()))),
    readPlans: (organisations) => attempt(() => organisations.map((each) => readPlan(each, clock()))),
  }
}
