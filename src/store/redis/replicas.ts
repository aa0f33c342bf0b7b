import { FORGET_MS, type ReplicaStore } from '../../replicas/presence.ts'
import { heard, listedReplicas } from '../presence-record.ts'
import type { Records } from '../records.ts'
import { call, milliseconds, reading, transaction } from './calls.ts'
import type { RedisClient } from './client.ts'
import { keyThatHolds } from './key-that-holds.ts'
import type { Keys } from './keys.ts'

export function redisReplicas(redis: RedisClient, keys: Keys, lists: Records): ReplicaStore {
  const hashes = [keys.beats, keys.replicas] as const
  const beats = keyThatHolds(lists, 'replica', keys.beats, () => redis.hlen(keys.beats))
  const records = keyThatHolds(lists, 'replica', keys.replicas, () => redis.hlen(keys.replicas))
  return {
    async beat(replica) {
      const report = JSON.stringify(replica)
      await call(() => redis.beat(...hashes, replica.instance, report, FORGET_MS))
    },

    async listReplicas() {
      type Hash = Record<string, string>
      // A process with a report has a beat, which is not later than the time.
      const [reports, spoke, time] = await reading<[Hash, Hash, [string, string]]>(
        redis,
        (commands) => commands.hgetall(keys.replicas).hgetall(keys.beats).time(),
        (place) => (place === 0 ? records : beats).lost('', {}),
      )
      return listedReplicas(
        Object.entries(reports).flatMap(([instance, text]) => heard(text, Number(spoke[instance]))),
        milliseconds(time),
      )
    },

    async leave(instance) {
      await transaction(redis, (multi) => {
        for (const hash of hashes) multi.hdel(hash, instance)
      })
    },
  }
}
