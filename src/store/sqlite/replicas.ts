import type { DatabaseSync } from 'node:sqlite'
import { FORGET_MS, KEEP_SILENCES_MS, MOST_SILENCES, type Replica, type ReplicaStore } from '../../replicas/presence.ts'
import { joinedSilences } from '../../usage/silence.ts'
import { heard, isLate, listedReplicas, silenceOf } from '../presence-record.ts'
import { attempt, transactions } from './database.ts'

interface Row {
  readonly instance: string
  readonly at: number
  readonly told: string
}

interface SilenceRow {
  readonly instance: string
  readonly since: number
  readonly until: number
}

export function sqliteReplicas(database: DatabaseSync, clock: () => number): ReplicaStore {
  const { writing } = transactions(database)
  const sql = statements(database)

  function beatNow(replica: Replica): void {
    const at = clock()
    sql.beat.run(replica.instance, at, JSON.stringify(replica))
    sql.pullBack.run(at)
    const silent = sql.silent.all(at - FORGET_MS) as unknown as Row[]
    for (const one of silent) note(one, at)
    sql.forget.run(at - FORGET_MS)
    if (silent.length > 0) boundSilences(at)
    sql.heardAgain.run(replica.instance)
  }

  function note({ instance, at, told }: Row, now: number): void {
    if (at <= now - KEEP_SILENCES_MS) return
    const { from, to } = silenceOf(told, at, now)
    sql.note.run(instance, from, to)
  }

  /** Removes silences that are too old, and joins some if there are too many. */
  function boundSilences(now: number): void {
    sql.forgetSilences.run(now - KEEP_SILENCES_MS)
    const all = sql.silences.all() as unknown as SilenceRow[]
    if (all.length <= MOST_SILENCES) return
    const known = all.map(({ instance, since, until }) => ({ instance, from: since, to: until }))
    const left = joinedSilences(known, MOST_SILENCES)
    sql.forgetSilences.run(Number.MAX_SAFE_INTEGER)
    // No process has the name of a joined silence, so nobody takes it back.
    for (const one of left) sql.note.run('instance' in one ? one.instance : `joined ${one.from}`, one.from, one.to)
  }

  function silencesNow() {
    const now = clock()
    const rows = sql.list.all() as unknown as Row[]
    const silent = rows.filter(({ told, at }) => isLate(told, at, now)).map(({ told, at }) => silenceOf(told, at, now))
    const noted = sql.silences.all() as unknown as SilenceRow[]
    return [...silent, ...noted.map(({ since, until }) => ({ from: since, to: until }))].filter(
      ({ to }) => to > now - KEEP_SILENCES_MS,
    )
  }

  function listNow(): ReturnType<typeof listedReplicas> {
    const rows = sql.list.all() as unknown as Row[]
    return listedReplicas(
      rows.flatMap(({ at, told }) => heard(told, at)),
      clock(),
    )
  }

  return {
    beat: (replica) => attempt(() => writing(() => beatNow(replica))),
    listReplicas: () => attempt(listNow),
    leave: (instance) =>
      attempt(() =>
        writing(() => {
          sql.leave.run(instance)
          sql.heardAgain.run(instance)
        }),
      ),
    readSilences: () => attempt(silencesNow),
  }
}

function statements(database: DatabaseSync) {
  return {
    beat: database.prepare('INSERT OR REPLACE INTO replicas (instance, at, told) VALUES (?, ?, ?)'),
    /** A process whose report is from the future reported while the clock was ahead. Its silence begins now. */
    pullBack: database.prepare('UPDATE replicas SET at = ?1 WHERE at > ?1'),
    silent: database.prepare('SELECT instance, at, told FROM replicas WHERE at < ?'),
    forget: database.prepare('DELETE FROM replicas WHERE at < ?'),
    list: database.prepare('SELECT instance, at, told FROM replicas'),
    leave: database.prepare('DELETE FROM replicas WHERE instance = ?'),
    note: database.prepare('INSERT OR REPLACE INTO silences (instance, since, until) VALUES (?, ?, ?)'),
    heardAgain: database.prepare('DELETE FROM silences WHERE instance = ?'),
    silences: database.prepare('SELECT instance, since, until FROM silences'),
    forgetSilences: database.prepare('DELETE FROM silences WHERE until <= ?'),
  }
}
