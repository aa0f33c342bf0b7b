import type { TokenRecord } from '../../control/tokens.ts'
import { BUCKET_MS, BUCKETS, type Bucket, bucketStart, type Tally } from '../../failures/histogram.ts'
import type { Observer } from '../../observe/observation.ts'
import type { Batch, Decision } from '../../quota/charge.ts'
import { type Standing, StoreError } from '../../quota/store.ts'
import type { Store } from '../store.ts'
import { decodeReply, encodeBatch } from './batch.ts'
import { connect, type RedisClient } from './client.ts'
import { asStoreError } from './errors.ts'
import { createKeys } from './keys.ts'
import { readCounter } from './sections.ts'

/** Twice as long as a ledger sends a batch of unknown outcome again. */
const REMEMBER_REPLY_MS = String(60 * 60_000)

export interface RedisStoreOptions {
  readonly url: string
  /** Name of the hash tag that all keys share; one for each quota. Default `tollgate`. */
  readonly prefix?: string
  /** Deadline of one command in milliseconds. Default 250. */
  readonly deadlineMs?: number
  readonly observe: Observer
}

/** Redis 6.2 or newer, or Valkey. Connects in the background: until then every call fails with a StoreError. */
export function openRedisStore({ url, prefix = 'tollgate', deadlineMs = 250, observe }: RedisStoreOptions): Store {
  const redis = connect({ url, deadlineMs })
  const keys = createKeys(prefix)

  redis.on('error', (error: Error) => {
    observe({ type: 'store_failed', operation: 'connect', reason: 'connection', message: error.message })
  })
  redis.on('ready', () => {
    observe({ type: 'store_connected' })
    void checkServer(redis, observe)
  })
  redis.connect().catch(() => {}) // told by the error event; ioredis goes on trying

  async function settle(batch: Batch): Promise<readonly Decision[]> {
    const sent = encodeBatch(batch, keys)
    const reply = await call(() =>
      redis.settleBatchBuffer(
        sent.keys.length,
        ...sent.keys,
        String(batch.sequence),
        REMEMBER_REPLY_MS,
        sent.json,
        sent.charges,
      ),
    )
    return decodeReply(reply, batch, sent)
  }

  async function standing(user: string, categories: readonly string[]): Promise<Standing> {
    const names = [keys.user(user), ...categories.map(keys.everybody)]
    const [time, [own, ...all]] = await transaction<[[string, string], (Buffer | null)[]]>((multi) => {
      multi.time().mgetBuffer(names)
    })
    return {
      at: milliseconds(time),
      personal: categories.map((category) => readCounter(own, category)),
      global: categories.map((category, i) => readCounter(all[i], category)),
    }
  }

  async function addTally({ total, status0, status5xx }: Tally): Promise<void> {
    await call(() => redis.addTally(keys.failures, total, status0, status5xx, BUCKET_MS, BUCKETS))
  }

  async function readTallies(): Promise<{ at: number; buckets: Bucket[] }> {
    const [time, stored] = await transaction<[[string, string], string[] | Record<string, string>]>((multi) => {
      multi.time().hgetall(keys.failures)
    })
    const at = milliseconds(time)
    const oldest = bucketStart(at) - (BUCKETS - 1) * BUCKET_MS
    const buckets = Object.entries(stored)
      .map(([start, counts]) => bucketOf(Number(start), String(counts)))
      .filter((bucket) => bucket.start >= oldest)
      .sort((a, b) => a.start - b.start)
    return { at, buckets }
  }

  async function insertToken(record: TokenRecord): Promise<void> {
    await transaction((multi) => {
      multi.hset(keys.tokens, record.hash, JSON.stringify(record)).hset(keys.tokenIds, record.id, record.hash)
    })
  }

  async function findToken(hash: string): Promise<TokenRecord | null> {
    const text = await call(() => redis.hget(keys.tokens, hash))
    return text === null ? null : (JSON.parse(text) as TokenRecord)
  }

  async function listTokens(): Promise<readonly TokenRecord[]> {
    const records = await call(() => redis.hvals(keys.tokens))
    return records.map((text) => JSON.parse(text) as TokenRecord).sort(newestFirst)
  }

  async function revokeToken(id: string, at: number): Promise<boolean> {
    const hash = await call(() => redis.hget(keys.tokenIds, id))
    const record = hash === null ? null : await findToken(hash)
    if (record === null) return false
    if (record.revokedAt === null) await insertToken({ ...record, revokedAt: at })
    return true
  }

  async function ping(): Promise<void> {
    await call(() => redis.ping())
  }

  async function transaction<T>(fill: (multi: ReturnType<RedisClient['multi']>) => void): Promise<T> {
    const multi = redis.multi()
    fill(multi)
    const replies = await call(() => multi.exec())
    if (replies === null) throw new StoreError('Redis gave the transaction up', 'other', 'no')
    return replies.map(([error, value]) => {
      if (error !== null) throw asStoreError(error)
      return value
    }) as T
  }

  async function close(): Promise<void> {
    redis.disconnect()
  }

  return { settle, standing, addTally, readTallies, insertToken, findToken, listTokens, revokeToken, ping, close }
}

async function call<T>(command: () => Promise<T>): Promise<T> {
  try {
    return await command()
  } catch (error) {
    throw asStoreError(error)
  }
}

function newestFirst(a: TokenRecord, b: TokenRecord): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1)
}

function milliseconds([seconds, micros]: readonly [string | number, string | number]): number {
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
}

function bucketOf(start: number, counts: string): Bucket {
  const [total = 0, status0 = 0, status5xx = 0] = counts.split(' ').map(Number)
  return { start, total, status0, status5xx }
}

/** What an operator must know before a quota is trusted to this server. */
async function checkServer(redis: RedisClient, observe: Observer): Promise<void> {
  try {
    const info = String(await redis.info())
    const field = (name: string): string => new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim() ?? ''
    const [major = 0, minor = 0] = field('redis_version').split('.').map(Number)
    if (major < 6 || (major === 6 && minor < 2)) {
      observe({ type: 'store_warning', message: `Redis ${major}.${minor} is too old: 6.2 or newer is needed` })
    }
    const policy = field('maxmemory_policy')
    if (policy !== '' && policy !== 'noeviction' && field('maxmemory') !== '0') {
      observe({
        type: 'store_warning',
        message: `maxmemory-policy is ${policy}: Redis may evict counters and forget charges; set it to noeviction`,
      })
    }
  } catch {
    // The next call tells what is wrong; a check that fails is no reason to refuse service.
  }
}
