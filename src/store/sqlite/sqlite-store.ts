import type { Observer } from '../../observe/observation.ts'
import { NO_RETENTION, type Retention } from '../../quota/history.ts'
import { endingLists } from '../endings.ts'
import { createRecords } from '../records.ts'
import type { Store } from '../store.ts'
import { sqliteAccessKeys } from './access-keys.ts'
import { sqliteAlerts } from './alerts.ts'
import { checkpointsOf } from './checkpoints.ts'
import { sqliteControl } from './control.ts'
import { sqliteCounters } from './counters.ts'
import { attempt, openDatabase, SqliteFile } from './database.ts'
import { sqliteEndings } from './endings.ts'
import { sqliteFailures } from './failures.ts'
import { sqliteGuard } from './guard.ts'
import { sqliteHistory } from './history.ts'
import { sqliteReplicas } from './replicas.ts'
import { startSweeper } from './sweeper.ts'
import { sqliteUsage } from './usage.ts'
import { sqliteUsageLog } from './usage-log.ts'

export interface SqliteStoreOptions {
  /** Path of the file, which is made if it is missing. `:memory:` makes a store that forgets. */
  readonly file: string
  /** Whether a read-only file is an error. Default false. */
  readonly toWrite?: boolean
  /** Milliseconds since the epoch. Default: the process clock. */
  readonly clock?: () => number
  /** How long runs are kept. It is read whenever a run may be over. By default no run is added, and all runs in the store are shown. */
  readonly retention?: () => Retention
  readonly observe?: Observer
}

/**
 * The embedded store: one SQLite file in WAL mode, with one transaction for each batch. `synchronous = NORMAL` means that
 * committed data outlives the process, even `kill -9`. A power cut may lose the last moments.
 */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const { file: path, toWrite = false, clock = Date.now, observe = () => {} } = options
  const retention = options.retention ?? (() => NO_RETENTION)
  const database = openDatabase(path, toWrite)
  const file = new SqliteFile(database)
  const stopSweeper = startSweeper(file, clock)
  const records = createRecords(observe)
  const checkpoints = checkpointsOf(database, path, observe)
  return {
    ...sqliteCounters(file, clock, observe, retention, checkpoints),
    ...sqliteFailures(file, records, clock),
    ...sqliteAccessKeys(file, records),
    ...sqliteControl(file, records, { clock, retention }),
    ...sqliteUsage(file, clock),
    ...sqliteHistory(file, clock, options.retention),
    ...sqliteUsageLog(file, records, clock, retention),
    ...endingLists(sqliteEndings(file, clock), records),
    ...sqliteGuard(file),
    ...sqliteAlerts(file, records, clock),
    ...sqliteReplicas(file, clock),
    isUnreadable: async (list, id) => records.isUnreadable(list, id),
    ping: async () => {
      await attempt(() => database.prepare('SELECT 1').get())
    },
    close: async () => {
      stopSweeper()
      await checkpoints.close()
      if (database.isOpen) database.close()
    },
  }
}
