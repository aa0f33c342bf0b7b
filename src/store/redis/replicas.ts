import { FORGET_MS, type ReplicaStore } from '../../control/replicas.ts'
import { heard, listedReplicas } from '../replicas.ts'
import { call, milliseconds, transaction } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

export function redisReplicas(redis: RedisClient, keys: Keys): ReplicaStore {
  return {
    async beat(replica) {
      await call(() => redis.beat(keys.beats, keys.replicas, replica.instance, JSON.stringify(replica), FORGET_MS))
    },

    async listReplicas() {
      type Hash = Record<string, string>
      const [time, beats, told] = await transaction<[[string, string], Hash, Hash]>(redis, (multi) => {
        multi.time().hgetall(keys.beats).hgetall(keys.replicas)
      })
      return listedReplicas(
        Object.entries(told).flatMap(([instance, text]) => heard(text, Number(beats[instance] ?? 0))),
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
