import { FORGET_MS, KEEP_SILENCES_MS, MOST_SILENCES, type Replica, type ReplicaStore } from '../../replicas/presence.ts'
import { joinedSilences } from '../../usage/silence.ts'
import { heard, isLate, listedReplicas, silenceOf } from '../presence-record.ts'
import { attempt, type SqliteFile } from './database.ts'

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

export function sqliteReplicas(file: SqliteFile, clock: () => number): ReplicaStore {
  const replicas = () =>
    file.all<Row>('SELECT instance, at, told FROM replicas').map(({ at, ...rest }) => ({ ...rest, at: Number(at) }))
  const silences = () => file.all<SilenceRow>('SELECT instance, since, until FROM silences')
  const note = (instance: string, since: number, until: number) => file.put('silences', { instance, since, until })

  function beatNow(replica: Replica): void {
    const now = clock()
    file.put('replicas', { instance: replica.instance, at: now, told: JSON.stringify(replica) })
    // A process whose report is from the future reported while the clock was ahead. Its silence begins now.
    file.run('UPDATE replicas SET at = ?1 WHERE at > ?1', now)
    const silent = file.all<Row>('SELECT instance, at, told FROM replicas WHERE at < ?', now - FORGET_MS)
    for (const { instance, at, told } of silent) {
      const { from, to } = silenceOf(told, at, now)
      if (at > now - KEEP_SILENCES_MS) note(instance, from, to)
    }
    file.run('DELETE FROM replicas WHERE at < ?', now - FORGET_MS)
    if (silent.length > 0) boundSilences(now)
    heardAgain(replica.instance)
  }

  function heardAgain(instance: string): void {
    file.run('DELETE FROM silences WHERE instance = ?', instance)
  }

  /** Removes silences that are too old, and joins some if there are too many. */
  function boundSilences(now: number): void {
    file.run('DELETE FROM silences WHERE until <= ?', now - KEEP_SILENCES_MS)
    const known = silences().map(({ instance, since, until }) => ({ instance, from: since, to: until }))
    if (known.length <= MOST_SILENCES) return
    file.run('DELETE FROM silences')
    // No process has the name of a joined silence, so no report deletes it.
    for (const one of joinedSilences(known, MOST_SILENCES)) {
      note('instance' in one ? one.instance : `joined ${one.from}`, one.from, one.to)
    }
  }

  function silencesNow() {
    const now = clock()
    const late = replicas().filter(({ told, at }) => isLate(told, at, now))
    const silent = late.map(({ told, at }) => silenceOf(told, at, now))
    return [...silent, ...silences().map(({ since, until }) => ({ from: since, to: until }))].filter(
      ({ to }) => to > now - KEEP_SILENCES_MS,
    )
  }

  return {
    beat: (replica) => file.write(() => beatNow(replica)),
    listReplicas: () =>
      attempt(() =>
        listedReplicas(
          replicas().flatMap(({ at, told }) => heard(told, at)),
          clock(),
        ),
      ),
    leave: (instance) =>
      file.write(() => {
        file.run('DELETE FROM replicas WHERE instance = ?', instance)
        heardAgain(instance)
      }),
    readSilences: () => attempt(silencesNow),
  }
}
