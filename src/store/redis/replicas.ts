import { FORGET_MS, type ReplicaStore } from '../../control/replicas.ts'
import { heard, listedReplicas } from '../replicas.ts'
import { call, milliseconds, reading, transaction } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

export function redisReplicas(redis: RedisClient, keys: Keys): ReplicaStore {
  return {
    async beat(replica) {
      await call(() => redis.beat(keys.beats, keys.replicas, replica.instance, JSON.stringify(replica), FORGET_MS))
    },

    async listReplicas() {
      type Hash = Record<string, string>
      // Who has told something has spoken, and not after the time.
      const [told, beats, time] = await reading<[Hash, Hash, [string, string]]>(redis, (commands) => {
        commands.hgetall(keys.replicas).hgetall(keys.beats).time()
      })
      return listedReplicas(
        Object.entries(told).flatMap(([instance, text]) => heard(text, Number(beats[instance]))),
        milliseconds(time),
      )
    },

    async leave(instance) {
      await transaction(redis, (multi) => {
        multi.hdel(keys.beats, instance).hdel(keys.replicas, instance)
      })
    },
  }
}
