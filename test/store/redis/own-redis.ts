import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type RedisServer, startRedis } from '../../setup/redis.ts'

export interface OpenOptions {
  /** Default this Redis. */
  readonly url?: string
  readonly prefix?: string
  /** Longer than a busy machine holds Redis up, if no deadline is to pass. */
  readonly deadlineMs?: number
  /** What the store reports. */
  readonly seen?: Observation[]
}

/** A Redis for one file, from its first test to its last. */
export class OwnRedis {
  server!: RedisServer
  /** To look into it, beside every store. */
  redis!: Redis
  readonly #stores: Store[] = []

  constructor() {
    beforeAll(async () => {
      this.server = await startRedis()
      this.redis = new Redis(this.server.url)
    })
    afterAll(async () => {
      this.redis.disconnect()
      await this.server.stop()
    })
    afterEach(async () => {
      for (const store of this.#stores.splice(0)) await store.close()
    })
  }

  /** A store over it, which ends with the test. */
  open({ url = this.server.url, prefix, deadlineMs = 2000, seen = [] }: OpenOptions = {}): Store {
    const named = prefix === undefined ? {} : { prefix }
    return this.endsWithTheTest(openRedisStore({ url, ...named, deadlineMs, observe: (o) => seen.push(o) }))
  }

  endsWithTheTest(store: Store): Store {
    this.#stores.push(store)
    return store
  }
}
