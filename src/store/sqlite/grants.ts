import type { DatabaseSync } from 'node:sqlite'
import type { GrantEnded, GrantGiven } from '../../control/control-store.ts'
import { isLive, isOfSameOwner } from '../../control/grants.ts'
import { givenGrantOf } from '../../control/record-forms.ts'
import type { GivenGrant, Versioned } from '../../control/state.ts'
import { type OverridesStep, ownerText } from '../change-catch-up.ts'
import type { Records } from '../records.ts'
import { nameOf, type Row, rowsOf } from './rows.ts'
import { versionedBy } from './versioned.ts'

/** Grants that one step reads. */
const STEP = 500

/** The grants, those that have ended too. Its functions belong into a transaction. */
export function grantRows(database: DatabaseSync, records: Records) {
  const find = rowsOf(database, 'SELECT version, value FROM grants WHERE id = ?')
  const some = rowsOf(database, `SELECT id, version, value FROM grants WHERE id > ? ORDER BY id LIMIT ${STEP}`)
  const set = database.prepare('INSERT OR REPLACE INTO grants (id, version, value) VALUES (?, ?, ?)')
  const ofOwner = rowsOf(database, 'SELECT id, version, value FROM grants WHERE instr(value, ?) > 0')
  const drop = database.prepare('DELETE FROM grants WHERE id = ?')
  const list = records.list({
    ...{ kind: 'grant', list: 'grants' },
    ...{ parse: versionedBy(givenGrantOf), look: (id: string) => find.first(id) },
  })

  function readable(rows: readonly Row[]): [id: string, grant: Versioned<GivenGrant>][] {
    return rows.flatMap((row) => {
      const grant = list.read(nameOf(row.id), row)
      return grant === null ? [] : [[nameOf(row.id), grant] as [string, Versioned<GivenGrant>]]
    })
  }

  return {
    /** `null` also for one that cannot be read. */
    one(id: string): Versioned<GivenGrant> | null {
      const row = find.first(id)
      return row === undefined ? null : list.read(id, row)
    },
    /** @param from where the last step ended; `null` begins */
    step(from: string | null): OverridesStep<GivenGrant> {
      const rows = some.all(from ?? '')
      const last = rows.length === STEP ? rows.at(-1)?.id : null
      return { overrides: readable(rows), next: typeof last === 'string' ? last : null }
    },
    readable,
    /** Whether the change is not to be made. @param known the grant as it is */
    refuses(change: GrantGiven | GrantEnded, known: Versioned<GivenGrant> | null, now: number): boolean {
      if ('endedAt' in change) return known === null || known.value.endedAt !== null
      if (known !== null) return true
      const isLiveOfOwner = ({ value }: Versioned<GivenGrant>) => isLive(value, now) && isOfSameOwner(value, change.to)
      return readable(ofOwner.all(ownerText(change.to))).filter(([, each]) => isLiveOfOwner(each)).length >= change.most
    },
    put: (id: string, version: number, json: string) => void set.run(id, version, json),
    forget(ids: readonly string[]): void {
      for (const id of ids) drop.run(id)
    },
  }
}
