import { FORGET_MS, KEEP_SILENCES_MS, MOST_SILENCES, type ReplicaStore } from '../../replicas/presence.ts'
import type { Silence } from '../../usage/silence.ts'
import { heard, isLate, listedReplicas, silenceOf } from '../presence-record.ts'
import type { Records } from '../records.ts'
import { milliseconds, reading, run, transaction } from './calls.ts'
import type { RedisClient } from './client.ts'
import { keyThatHolds } from './key-that-holds.ts'
import type { Keys } from './keys.ts'

type Hash = Record<string, string>

export function redisReplicas(redis: RedisClient, keys: Keys, lists: Records): ReplicaStore {
  const hashes = [keys.beats, keys.replicas, keys.silences] as const
  const [beats, records, silences] = hashes.map((key) => keyThatHolds(lists, 'replica', key, () => redis.hlen(key)))

  /** The order of the commands makes sure that a process with a report also has a beat, and that no beat is later than the time. */
  async function read() {
    const [reports, spoke, noted, time] = await reading<[Hash, Hash, Hash, [string, string]]>(
      redis,
      (commands) => commands.hgetall(keys.replicas).hgetall(keys.beats).hgetall(keys.silences).time(),
      (place) => [records, beats, silences][place]?.lost('', {}),
    )
    return { reports, spoke, noted, now: milliseconds(time) }
  }

  return {
    async beat(replica) {
      const args = [replica.instance, JSON.stringify(replica), FORGET_MS, KEEP_SILENCES_MS, MOST_SILENCES]
      await run(redis, 'beat', hashes, args)
    },

    async listReplicas() {
      const { reports, spoke, now } = await read()
      return listedReplicas(
        Object.entries(reports).flatMap(([instance, text]) => heard(text, Number(spoke[instance]))),
        now,
      )
    },

    async leave(instance) {
      await transaction(redis, (multi) => {
        for (const hash of hashes) multi.hdel(hash, instance)
      })
    },

    async readSilences() {
      const { reports, spoke, noted, now } = await read()
      const silent = Object.entries(spoke).flatMap(([instance, at]) => {
        const report = reports[instance] ?? ''
        return isLate(report, Number(at), now) ? [silenceOf(report, Number(at), now)] : []
      })
      return [...silent, ...Object.values(noted).flatMap(notedSilence)].filter(({ to }) => to > now - KEEP_SILENCES_MS)
    },
  }
}

function notedSilence(text: string): Silence[] {
  const [, from, to] = /^(\d{1,16}) (\d{1,16})$/.exec(text) ?? []
  return to === undefined ? [] : [{ from: Number(from), to: Number(to) }]
}

/** For a copy. */
export function writeSilences(multi: ReturnType<RedisClient['multi']>, keys: Keys, silences: readonly Silence[]): void {
  for (const { from, to } of silences) multi.hset(keys.silences, `copied ${from} ${to}`, `${from} ${to}`)
  multi.pexpire(keys.silences, KEEP_SILENCES_MS)
}
