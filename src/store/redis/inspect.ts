import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreWarning } from '../../observe/observation.ts'
import { NO_RETENTION } from '../../quota/history.ts'
import { LostCharges } from '../../quota/quota-store.ts'
import { call, pinging } from './calls.ts'
import { createEncoder } from './charge-encoder.ts'
import type { ConnectOptions, RedisClient } from './client.ts'
import { createKeys, type Keys } from './keys.ts'
import { connectToPrimary } from './sentinels.ts'
import { foundAtLogin, lookAt } from './server-check.ts'

/** What to report about a Redis with which a gateway could work. */
export interface Inspected {
  /** As reported by Redis; `null` if our user may not ask. */
  readonly version: string | null
  readonly evictionPolicy: string | null
  /** What an operator must know before this Redis is trusted with a quota. */
  readonly warnings: ReadonlyMap<StoreWarning, string>
  /** By how many milliseconds the clock of Redis is ahead of ours. */
  readonly clockAheadMs: number
}

/** How long making a connection may take, in milliseconds. */
const PATIENCE_MS = 3000
/** The key that is written expires after this time. */
const TRACE_MS = 1000

/**
 * Tests a Redis: logs in, runs the script of charges in a way that changes nothing, writes a key that soon expires, and looks at
 * the server.
 * @throws StoreError with the cure if a gateway could not work with it
 */
export async function inspectRedis(options: ConnectOptions & { readonly prefix: string }): Promise<Inspected> {
  const redis = connectToPrimary(options)
  const keys = createKeys(options.prefix)
  const ping = pinging(redis, keys.version)
  redis.connect().catch(() => {}) // The ping reports the reason.
  try {
    await patiently(ping)
    // ioredis sends a script whole the first time (EVAL), and by its name from then on (EVALSHA).
    for (let times = 0; times < 2; times++) await runChargeScript(redis, keys)
    await call(() => redis.set(`${keys.all}check:${randomUUID()}`, '1', 'PX', TRACE_MS))
    const clockAheadMs = await clockOf(redis)
    const ofLogin = await foundAtLogin(redis)
    const { found: warnings, info } = await call(() => lookAt(redis, keys, options.deadlineMs, ofLogin))
    const field = (name: string): string | null => info?.(name) ?? null
    return { version: field('redis_version'), evictionPolicy: field('maxmemory_policy'), warnings, clockAheadMs }
  } finally {
    redis.disconnect()
  }
}

async function patiently(ping: () => Promise<void>): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await ping()
    } catch (error) {
      if (performance.now() > until) throw error
      await sleep(50)
    }
  }
}

/**
 * Sends a batch that the script refuses after it has read the keys, because Redis does not know the batch before it.
 */
async function runChargeScript(redis: RedisClient, keys: Keys): Promise<void> {
  const batch = { instance: `check-${randomUUID()}`, sequence: 2, after: 1, refunds: [], charges: [] }
  const sent = createEncoder(keys)(batch, Date.now(), NO_RETENTION)
  const args = [String(batch.sequence), String(TRACE_MS), sent.json, sent.charges, String(batch.after)]
  try {
    await call(() => redis.settleBatchBuffer(sent.keys.length, ...sent.keys, ...args))
  } catch (error) {
    if (!(error instanceof LostCharges)) throw error
  }
}

async function clockOf(redis: RedisClient): Promise<number> {
  const askedAt = performance.now()
  const [seconds, micros] = await call(() => redis.time())
  const tookMs = performance.now() - askedAt
  return Number(seconds) * 1000 + Number(micros) / 1000 - (Date.now() - tookMs / 2)
}
