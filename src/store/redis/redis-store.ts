import { BUCKET_MS, BUCKETS, type Tally } from '../../failures/histogram.ts'
import type { Observer } from '../../observe/observation.ts'
import type { Batch, Decision } from '../../quota/charge.ts'
import { NO_RETENTION, type Retention } from '../../quota/history.ts'
import type { UsageSnapshot } from '../../quota/quota-store.ts'
import { endingLists } from '../endings.ts'
import { createRecords } from '../records.ts'
import { shareReads } from '../shared-reads.ts'
import type { Store } from '../store.ts'
import { redisAccessKeys } from './access-keys.ts'
import { redisAlerts } from './alerts.ts'
import { call, pinging, readingAt, run } from './calls.ts'
import { createEncoder } from './charge-encoder.ts'
import { decodeReply } from './charge-reply.ts'
import { missingInIoredis, type RedisAccess, type RedisClient } from './client.ts'
import { redisControl } from './control.ts'
import { redisEndings } from './endings.ts'
import { readCounter } from './form/section.ts'
import { redisGuard } from './guard.ts'
import { redisHistory } from './history.ts'
import { createKeys, type Keys } from './keys.ts'
import { redisReplicas } from './replicas.ts'
import { connectToPrimary } from './sentinels.ts'
import { createServerCheck, type ServerCheckOptions } from './server-check.ts'
import { StoreClock, withinPeriods } from './store-clock.ts'
import { asStoreError, wasNeverSent } from './store-errors.ts'
import { subscription } from './subscription.ts'
import { countsOf, failureRecords, readBuckets } from './tallies.ts'
import { redisUsage } from './usage.ts'
import { redisUsageLog } from './usage-log.ts'

/** In milliseconds. This is twice as long as a ledger sends a batch of unknown outcome again. */
const REMEMBER_REPLY_MS = String(60 * 60_000)

/** How many users' usage one command reads. */
const MOST_READS = 256

interface Asked {
  readonly user: string
  readonly organisation: string | null
  readonly categories: readonly string[]
}

export interface RedisStoreOptions extends RedisAccess {
  /** The hash tag that all keys share. Use another one for each quota. Default `tollgate`. */
  readonly prefix?: string
  /** How long the store may be silent while a charge waits, in milliseconds. A command may take four times as long. Default 250. */
  readonly deadlineMs?: number
  /** How long runs are kept. It is read whenever a run may be over. By default no run is added, and all runs in the store are shown. */
  readonly retention?: () => Retention
  readonly observe: Observer
  /** Is called with all present warnings after each look at the server. Default none. */
  readonly onChecked?: ServerCheckOptions['onChecked']
  /** How often to look at the server, in milliseconds. Default 5,000. */
  readonly checkMs?: number
}

/** Opens Redis 6.2 or newer, or Valkey. It connects in the background. Until then every call fails with a StoreError. */
export function openRedisStore({
  prefix = 'tollgate',
  deadlineMs = 250,
  retention: given,
  observe,
  onChecked = () => {},
  checkMs,
  ...access
}: RedisStoreOptions): Store {
  const retention = given ?? (() => NO_RETENTION)
  const redis = connectToPrimary({ ...access, deadlineMs })
  const keys = createKeys(prefix)
  const records = createRecords(observe)
  const failures = failureRecords(redis, keys, records)
  const encode = createEncoder(keys)
  const clock = new StoreClock()
  const ping = pinging(redis, keys.version)
  const check = createServerCheck(redis, keys, {
    deadlineMs,
    observe,
    onChecked,
    ...(checkMs !== undefined && { everyMs: checkMs }),
  })
  const changes = subscription(() => connectToPrimary({ ...access, deadlineMs }), keys.changes)

  for (const missing of missingInIoredis()) observe({ type: 'hook_missing', ...missing })
  redis.on('error', (error: Error) => {
    // A command that was never sent fails because of an error that is reported already.
    if (wasNeverSent(error)) return
    const { message } = asStoreError(error)
    observe({ type: 'store_failed', operation: 'connect', reason: 'connection', message })
  })
  redis.on('ready', () => void welcome())
  redis.connect().catch(() => {}) // The error event reports it, and ioredis goes on trying.

  async function welcome(): Promise<void> {
    // A cluster is ready before its nodes are connected. The first command connects our node, while others fail.
    if (redis.isCluster) await ping().catch(() => {})
    observe({ type: 'store_connected' })
    await check.look()
  }

  async function settle(batch: Batch): Promise<readonly Decision[]> {
    const { sequence, after = 0 } = batch
    return withinPeriods(clock, async (now) => {
      const sent = encode(batch, now, retention())
      const args = [String(sequence), REMEMBER_REPLY_MS, sent.json, sent.charges, String(after)]
      const reply = await call(() => redis.settleBatchBuffer(sent.keys.length, ...sent.keys, ...args))
      const decisions = decodeReply(reply, batch, sent, (aheadMs) => observe({ type: 'window_start_ahead', aheadMs }))
      if (decisions[0] !== undefined) clock.heard(decisions[0].at)
      return decisions
    })
  }

  const readShared = shareReads((asked: readonly Asked[]) => readUsages(redis, keys, asked), MOST_READS)

  async function addTally(tally: Tally, agoMs = 0): Promise<void> {
    await run(redis, 'addTally', [keys.failures], [...countsOf(tally), BUCKET_MS, BUCKETS, agoMs])
  }

  async function close(): Promise<void> {
    check.stop()
    changes.close()
    redis.disconnect()
  }

  return {
    settle,
    readUsage: (user, categories, organisation = null) => readShared({ user, organisation, categories }),
    addTally,
    readTallies: () => readBuckets(redis, keys, failures),
    ...redisAccessKeys(redis, keys, records),
    ...redisControl(redis, keys, records, undefined, clock, retention),
    onChange: (listener) => changes.follow(() => listener()),
    ...redisUsage(redis, keys),
    ...redisHistory(redis, keys, given),
    ...redisUsageLog(redis, keys, records, retention),
    ...endingLists(redisEndings(redis, keys), records),
    ...redisGuard(redis, keys, records),
    ...redisAlerts(redis, keys, records),
    ...redisReplicas(redis, keys, records),
    isUnreadable: records.isUnreadable,
    ping,
    close,
  }
}

/** What several users have used, read with one command. */
async function readUsages(redis: RedisClient, keys: Keys, asked: readonly Asked[]): Promise<readonly UsageSnapshot[]> {
  const categories = [...new Set(asked.flatMap((one) => one.categories))]
  const organisations = [...new Set(asked.flatMap(({ organisation }) => organisation ?? []))]
  const names = [
    ...categories.map(keys.everybody),
    ...asked.map(({ user }) => keys.user(user)),
    ...organisations.map(keys.organisation),
  ]
  const [at, values] = await readingAt<[(Buffer | null)[]]>(redis, (commands) => commands.mgetBuffer(names))
  const everybody = new Map(categories.map((category, i) => [category, readCounter(values[i], category)]))
  const theirs = values.slice(categories.length + asked.length)
  const countersIn = (value: Buffer | null | undefined, of: readonly string[]) =>
    of.map((category) => readCounter(value, category))
  return asked.map((one, i) => ({
    at,
    personal: countersIn(values[categories.length + i], one.categories),
    organisation:
      one.organisation === null ? null : countersIn(theirs[organisations.indexOf(one.organisation)], one.categories),
    global: one.categories.map((category) => everybody.get(category) ?? []),
  }))
}
