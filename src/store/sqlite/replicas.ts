import type { DatabaseSync } from 'node:sqlite'
import { FORGET_MS, type Replica, type ReplicaStore } from '../../replicas/presence.ts'
import { heard, listedReplicas } from '../presence-record.ts'
import { attempt, transactions } from './database.ts'

export function sqliteReplicas(database: DatabaseSync, clock: () => number): ReplicaStore {
  const { writing } = transactions(database)
  const sql = {
    beat: database.prepare('INSERT OR REPLACE INTO replicas (instance, at, told) VALUES (?, ?, ?)'),
    /** A process that spoke in the future spoke while the clock was ahead: its silence begins now. */
    pullBack: database.prepare('UPDATE replicas SET at = ?1 WHERE at > ?1'),
    forget: database.prepare('DELETE FROM replicas WHERE at < ?'),
    list: database.prepare('SELECT at, told FROM replicas'),
    leave: database.prepare('DELETE FROM replicas WHERE instance = ?'),
  }

  function beatNow(replica: Replica): void {
    const at = clock()
    sql.beat.run(replica.instance, at, JSON.stringify(replica))
    sql.pullBack.run(at)
    sql.forget.run(at - FORGET_MS)
  }

  function listNow(): ReturnType<typeof listedReplicas> {
    const rows = sql.list.all() as unknown as { at: number; told: string }[]
    return listedReplicas(
      rows.flatMap(({ at, told }) => heard(told, at)),
      clock(),
    )
  }

  return {
    beat: (replica) => attempt(() => writing(() => beatNow(replica))),
    listReplicas: () => attempt(listNow),
    leave: (instance) =>
      attempt(() => {
        sql.leave.run(instance)
      }),
  }
}
