import type { GrantEnded, GrantGiven } from '../../control/control-store.ts'
import { isLive, isOfSameOwner } from '../../control/grants.ts'
import { givenGrantOf } from '../../control/record-forms.ts'
import type { GivenGrant, Versioned } from '../../control/state.ts'
import { ownerText } from '../change-catch-up.ts'
import type { Records } from '../records.ts'
import type { SqliteFile } from './database.ts'
import { versionedRows } from './versioned.ts'

/** All grants, even ended ones. Call the functions within a transaction. */
export function grantRows(file: SqliteFile, records: Records) {
  const rows = versionedRows(file, records, { kind: 'grant', table: 'grants', key: 'id', parse: givenGrantOf })
  return {
    ...rows,
    /** Whether the change must be refused. @param known the present grant */
    refuses(change: GrantGiven | GrantEnded, known: Versioned<GivenGrant> | null, now: number): boolean {
      if ('endedAt' in change) return known === null || known.value.endedAt !== null
      if (known !== null) return true
      const isLiveOfOwner = ({ value }: Versioned<GivenGrant>) => isLive(value, now) && isOfSameOwner(value, change.to)
      const ofOwner = 'SELECT id, version, value FROM grants WHERE instr(value, ?) > 0'
      const ofSameOwner = rows.readable(file.all(ofOwner, ownerText(change.to)))
      return ofSameOwner.filter(([, each]) => isLiveOfOwner(each)).length >= change.most
    },
    forget(ids: readonly string[]): void {
      for (const id of ids) rows.put(id, 0, null)
    },
  }
}
