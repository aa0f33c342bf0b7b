import type { DatabaseSync } from 'node:sqlite'
import type { Membership, MembershipStore } from '../../quota/memberships.ts'
import type { Payer } from '../../quota/policy.ts'
import { attempt, transactions } from './database.ts'

export function sqliteMemberships(database: DatabaseSync, clock: () => number): MembershipStore {
  const { writing } = transactions(database)
  const sql = {
    find: database.prepare('SELECT plan, organisation FROM memberships WHERE user = ? AND ends > ?'),
    forget: database.prepare('DELETE FROM memberships WHERE user = ?'),
    note: database.prepare('INSERT OR REPLACE INTO memberships (user, plan, organisation, ends) VALUES (?, ?, ?, ?)'),
  }

  function noteNow(payers: readonly Payer[], ends: number): void {
    for (const { user, plan, organisation } of payers) {
      if (plan === null && organisation === null) sql.forget.run(user)
      else sql.note.run(user, plan, organisation, ends)
    }
  }

  function read(user: string, now: number): Membership | null {
    const row = sql.find.get(user, now) as unknown as Membership | undefined
    return row === undefined ? null : { plan: row.plan, organisation: row.organisation }
  }

  return {
    noteMemberships: (payers, rememberMs) => attempt(() => writing(() => noteNow(payers, clock() + rememberMs))),
    readMemberships: (users) => attempt(() => users.map((user) => read(user, clock()))),
  }
}
