import { type Database, openDatabase } from '../common/database.ts'
import { createPlayers, type Players } from './players.ts'
import { createRecords, type Records } from './records.ts'
import { createSnapshots, type Snapshots } from './snapshots.ts'
import { SCHEMA } from './tables.ts'

/** All data of the service, over one database. */
export interface Store extends Pick<Database, 'read' | 'write' | 'close'> {
  readonly players: Players
  readonly records: Records
  readonly snapshots: Snapshots
}

/** @throws Error if the file cannot be opened as this service's database */
export function openStore(file: string, busyTimeout?: number): Store {
  const db = openDatabase(file, SCHEMA, busyTimeout)
  return {
    ...db,
    players: createPlayers(db),
    records: createRecords(db),
    snapshots: createSnapshots(db),
  }
}
