import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { NO_RETENTION } from '../../../src/quota/history.ts'
import type { HistoryScope } from '../../../src/quota/history-store.ts'
import { addRuns, eachPackedRun } from '../../../src/store/packed-history.ts'
import { connect } from '../../../src/store/redis/client.ts'
import { redisHistory } from '../../../src/store/redis/history.ts'
import { createKeys } from '../../../src/store/redis/keys.ts'
import { grantsSuite } from '../../quota/grants.suite.ts'
import { historyStoreSuite, KEPT_FOR_EVER, type OpenHistory } from '../../quota/history.suite.ts'
import { type KeptUnderTest, keptSuite } from '../../quota/kept.suite.ts'
import { atEnd } from '../../setup/at-end.ts'
import { startRedis } from '../../setup/redis.ts'
import { invoiceSuite } from '../../usage/invoice.suite.ts'
import { overlongHistory, runOf } from '../overlong-history.ts'
import { clockedScripts } from './clocked.ts'

const server = await startRedis()
const redis = new Redis(server.url)
atEnd(() => redis.disconnect())
const client = connect({ url: server.url, deadlineMs: 20_000 })
atEnd(() => client.disconnect())
await client.connect()

const open: OpenHistory = async (retention) => {
  const keys = createKeys(`history-[${randomUUID()}]?*`)
  const { settle, change } = clockedScripts(redis, keys, retention)
  return {
    settle,
    change: async (wanted, now) => void (await change(wanted, now)),
    history: redisHistory(client, keys),
    close: async () => {},
  }
}

async function openKept(): Promise<KeptUnderTest> {
  const keys = createKeys(`kept-[${randomUUID()}]?*`)
  let kept = NO_RETENTION
  const of = (scope: HistoryScope, id: string) =>
    scope === 'personal'
      ? ([keys.user(id), keys.history(id)] as const)
      : ([keys.organisation(id), keys.organisationHistory(id)] as const)
  return {
    settle: (batch, at) => clockedScripts(redis, keys, kept).settle(batch, at),
    history: redisHistory(client, keys, () => kept),
    keep(retention) {
      kept = retention
    },
    async stored(scope, id) {
      const [counters, history] = of(scope, id)
      return { bytes: await redis.strlen(history), counterEnds: Math.max(0, await redis.pexpiretime(counters)) }
    },
    close: async () => {},
  }
}

describe('what Redis keeps', () => keptSuite(openKept))

describe('histories in Redis', () => historyStoreSuite(open))
describe('grants in Redis', () => grantsSuite(open))

describe('invoices from Redis', () => invoiceSuite(open))

const HOUR = 3_600_000
const AT = Date.UTC(2150, 0, 1)

describe('a history in Redis', () => {
  it('a history in Redis has 3000 runs of a window, without the oldest of more', async () => {
    const keys = createKeys(`history-${randomUUID()}`)
    const { settle } = clockedScripts(redis, keys, KEPT_FOR_EVER)
    const limits = { personal: [{ window: { name: '1h', seconds: 3600 }, limit: 9 }], organisation: null, global: null }
    const charge = { user: 'alice', organisation: null, category: 'read', cost: 1, limits }
    const put = (number: number, hours: number) =>
      settle({ instance: 'i', sequence: number, refunds: [], charges: [charge] }, AT + hours * HOUR)
    let bytes: Buffer = Buffer.alloc(0)
    for (let i = 0; i < 2999; i++) {
      const ended = { seconds: 3600, startedAt: AT + i * HOUR, used: 7, keptSeconds: 10 ** 8 }
      bytes = addRuns(bytes, 'read', [ended], AT)
    }
    await redis.set(keys.history('alice'), bytes, 'PXAT', 2 * AT)
    for (let i = 0; i < 3; i++) await put(i + 1, 3000 + i)
    const starts: number[] = []
    const { history } = await redisHistory(client, keys).readHistory('personal', 'alice')
    history.eachRun(0, 2 * AT, (_category, _seconds, startedAt) => starts.push((startedAt - AT) / HOUR))
    expect([starts.length, starts[0], starts.at(-2), starts.at(-1)]).toEqual([3001, 1, 3001, 3002])
  })

  it('a history in Redis that is too long loses as many of the oldest runs of a window as are needed for a new one', async () => {
    const keys = createKeys(`history-${randomUUID()}`)
    const { settle } = clockedScripts(redis, keys, KEPT_FOR_EVER)
    const limits = { personal: [{ window: { name: '1h', seconds: 3600 }, limit: 9 }], organisation: null, global: null }
    const charge = { user: 'alice', organisation: null, category: 'read', cost: 7, limits }
    const before = overlongHistory(AT)
    await redis.set(keys.history('alice'), before, 'PXAT', 2 * AT)
    for (const hours of [10, 11]) {
      const charged = { instance: 'i', sequence: hours, refunds: [], charges: [charge] }
      await settle(charged, AT + hours * HOUR)
    }
    const after = (await redis.getBuffer(keys.history('alice'))) ?? Buffer.alloc(0)
    const starts: number[] = []
    eachPackedRun(after, 0, 2 * AT, (category, _seconds, startedAt) => {
      if (category === 'read') starts.push((startedAt - AT) / HOUR)
    })
    expect(starts).toEqual([3, 4, 5, 6, 7, 8, 9, 10])
    expect(after.length).toBe(addRuns(before, 'read', [runOf(AT, 10)], AT).length)
  })

  it('a history in Redis is changed at a start, and not at tokens that look like it', async () => {
    const keys = createKeys(`history-${randomUUID()}`)
    const { settle } = clockedScripts(redis, keys, KEPT_FOR_EVER)
    const limits = { personal: [{ window: { name: '1h', seconds: 3600 }, limit: 9 }], organisation: null, global: null }
    const charge = { user: 'alice', organisation: null, category: 'read', cost: 5, limits }
    const runs = [
      { seconds: 3600, startedAt: AT - HOUR, used: AT, keptSeconds: 10 ** 8 },
      { seconds: 3600, startedAt: AT, used: 7, keptSeconds: 10 ** 8 },
    ]
    const bytes = runs.reduce<Buffer>((before, run) => addRuns(before, 'read', [run], AT), Buffer.alloc(0))
    await redis.set(keys.history('alice'), bytes, 'PXAT', 2 * AT)
    const decision = {
      accepted: true,
      at: AT,
      personal: [{ startedAt: AT, used: 7 }],
      organisation: null,
      global: null,
    }
    const refunds = [{ charge, decision, amount: 2 }]
    await settle({ instance: 'i', sequence: 1, refunds, charges: [] }, AT + HOUR)
    const tokens: number[] = []
    const { history } = await redisHistory(client, keys).readHistory('personal', 'alice')
    history.eachRun(0, 2 * AT, (_category, _seconds, _startedAt, used) => tokens.push(used))
    expect(tokens).toEqual([AT, 5])
  })

  it('a history in Redis is read together with those that are asked for in the same turn, whoever they are, in one command', async () => {
    const keys = createKeys(`history-${randomUUID()}`)
    const users = Array.from({ length: 40 }, (_, i) => `user ${i}`)
    const run = (used: number) => ({ seconds: 3600, startedAt: AT, used, keptSeconds: 10 ** 8 })
    for (const [i, user] of users.entries()) {
      await redis.set(keys.history(user), addRuns(Buffer.alloc(0), 'read', [run(i + 1)], AT))
    }
    await redis.set(keys.organisationHistory('user 1'), addRuns(Buffer.alloc(0), 'read', [run(99)], AT))
    const reads = async () => Number(/cmdstat_mget:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0)
    const before = await reads()
    const history = redisHistory(client, keys)
    const all = [
      ...users.map((user) => history.readHistory('personal', user)),
      history.readHistory('organisation', 'user 1'),
    ]
    const tokens = (await Promise.all(all)).map(({ history }) => {
      const used: number[] = []
      history.eachRun(0, 2 * AT, (_category, _seconds, _startedAt, tokens) => used.push(tokens))
      return [history.id, ...used]
    })
    expect(tokens).toEqual([...users.map((user, i) => [user, i + 1]), ['user 1', 99]])
    expect((await reads()) - before).toBe(1)
  })

  it('a history in Redis ends with its counters, when the last run need not be kept any more', async () => {
    const keys = createKeys(`history-${randomUUID()}`)
    const day = 86_400
    const { settle } = clockedScripts(redis, keys, { ...KEPT_FOR_EVER, longestSeconds: 5 * day, shorterSeconds: day })
    const limits = { personal: [{ window: { name: '1h', seconds: 3600 }, limit: 9 }], organisation: null, global: null }
    const charge = { user: 'alice', organisation: null, category: 'read', cost: 1, limits }
    const endsOf = async () =>
      Promise.all(
        [keys.user('alice'), keys.history('alice')].map(async (key) => Number(await redis.call('PEXPIRETIME', key))),
      )
    await settle({ instance: 'i', sequence: 1, refunds: [], charges: [charge] }, AT)
    expect(await endsOf()).toEqual([AT + HOUR + 5 * 24 * HOUR, -2])
    await settle({ instance: 'i', sequence: 2, refunds: [], charges: [charge] }, AT + 2 * HOUR)
    expect(await endsOf()).toEqual([AT + 3 * HOUR + 5 * 24 * HOUR, AT + 3 * HOUR + 5 * 24 * HOUR])
  })
})
