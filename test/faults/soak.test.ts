import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { usageOf } from '../../src/quota/counter.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { PERSISTENT, type RedisServer, startRedis } from '../setup/redis.ts'
import { whenReady } from '../store/redis/ready.ts'
import { fault } from './catalogue.ts'
import { type Asked, Client, readJson } from './client.ts'
import { commonConfig, type Gateway, startGateway, untilReady } from './gateway.ts'
import { expectUnharmed } from './matrix.ts'
import { type LoggingUpstream, startLoggingUpstream } from './upstream.ts'

/**
 * Faults by chance, several at a time, at every place at once. SOAK_SECONDS says how long, SOAK_SEED repeats a run:
 * the same faults in the same order with the same pauses, as far as the machine's own timing goes.
 */
const SECONDS = Number(process.env.SOAK_SECONDS ?? 10)
const SEED = Number(process.env.SOAK_SEED ?? 20_260_806)

const COST = 3
const TIGHT = 400
const WIDE = 10_000_000
/** Longer than any fault lasts, so that what a gateway owed has been given back. */
const OWED_MS = 10_000
const OWED_AT_A_KILL = 3
const USERS = ['alice', 'bob', 'carol']
const CATEGORIES = ['tight', 'wide'] as const
/**
 * A third category goes on while the store is out. There each request has a user of its own, whose counter tells what became
 * of that very request: a gateway that is killed forgets what it owed, and nothing that counts twice may hide behind it.
 */
const LENIENT = 'lenient'
const SHARE = 0.1
/** What is owed from an outage, for as long as none of them lasts. */
const ALONE_MS = 30_000
const DAY = 86_400

const folder = tempFolder()
let redis: RedisServer
let admin: Redis
let upstream: LoggingUpstream
let toRedis: FaultProxy[]
let toUpstream: FaultProxy
let gateways: Gateway[]
let client: Client
const kills: { readonly gateway: string; readonly at: number }[] = []
const starts: (() => Promise<Gateway>)[] = []

/** A reload adds a window, and takes it away again; the other gateway may have the other configuration meanwhile. */
const VARIANTS = [
  { windows: '{ 1d: 1d }', limit: (tokens: number): string => `{ 1d: ${tokens} }` },
  { windows: '{ 1d: 1d, 2d: 2d }', limit: (tokens: number): string => `{ 1d: ${tokens}, 2d: ${2 * tokens} }` },
] as const

function configOf(i: number, variant: number): string {
  const { windows, limit } = VARIANTS[variant % 2] as (typeof VARIANTS)[number]
  const baselines = (tight: number): string =>
    `{ tight: ${limit(tight)}, wide: ${limit(WIDE)}, lenient: ${limit(WIDE)} }`
  return `
upstream: { url: "http://127.0.0.1:${toUpstream.port}", connect_timeout: 500ms, response_timeout: 500ms, idle_timeout: 500ms }
store: redis://127.0.0.1:${toRedis[i]?.port}
workers: ${i + 1}
quota:
  windows: ${windows}
  baselines: { personal: ${baselines(TIGHT)}, global: ${baselines(2 * TIGHT)} }
  store_outage: { lenient: { allow: ${SHARE * 100}% } }
routes:
  - { match: POST /tight/:id, category: tight, cost: ${COST} }
  - { match: POST /wide/:id, category: wide, cost: ${COST} }
  - { match: POST /lenient/:id, category: lenient, cost: ${COST} }
log: { requests: none }
`
}

beforeAll(async () => {
  redis = await startRedis({ args: PERSISTENT })
  admin = new Redis(redis.url, { maxRetriesPerRequest: null }).on('error', () => {})
  upstream = await startLoggingUpstream()
  toRedis = [await startFaultProxy(redis.port), await startFaultProxy(redis.port)]
  toUpstream = await startFaultProxy(upstream.port)
  gateways = []
  for (const i of toRedis.keys()) {
    starts.push(() => {
      const { url, admin } = gateways[i] ?? {}
      const known = url !== undefined && admin !== undefined ? { url, admin } : {}
      return startGateway({ file: join(folder, `${i}.yaml`), config: configOf(i, 0), ...known })
    })
  }
  // One after the other: where one does not start, those before it are known and ended.
  for (const start of starts) gateways.push(await start())
  await Promise.all(gateways.map(untilReady))
  client = new Client()
})
afterAll(async () => {
  client?.close()
  for (const proxy of [...(toRedis ?? []), toUpstream]) await proxy?.close()
  admin?.disconnect()
})

/** mulberry32: small, and the same everywhere. */
function dice(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return (((t ^ (t >>> 14)) >>> 0) % 1_000_003) % below
  }
}

type Mishap = readonly [name: string, cause: () => void | Promise<void>, cure?: () => void | Promise<void>]

function mishaps(roll: (below: number) => number): Mishap[] {
  const store = (): FaultProxy => toRedis[roll(toRedis.length)] as FaultProxy
  // Most end by themselves; some last until chance heals them, and others come on top.
  const often = async (): Promise<void> => {
    if (roll(4) > 0) for (const proxy of toRedis) await proxy.heal()
  }
  return [
    ['store: request lost', () => store().dropRequest()],
    ['store: reply lost', () => store().dropReply()],
    ['store: reply cut', () => store().cutReply(roll(40))],
    ['store: slow', () => store().delay(roll(400), roll(200)), often],
    ['store: trickle', () => store().throttle(1 + roll(2000)), often],
    ['store: reset', () => store().reset()],
    ['store: fin', () => store().fin()],
    ['store: half open', () => store().halfOpen(), often],
    ['store: blackhole', () => store().blackhole(), often],
    ['store: connects reset', () => store().resetConnects(), often],
    ['store: healed', () => store().heal()],
    ['redis: scripts flushed', async () => void (await admin.script('FLUSH'))],
    [
      'redis: replica',
      async () => void (await admin.call('REPLICAOF', '127.0.0.1', '1')),
      async () => void (await admin.call('REPLICAOF', 'NO', 'ONE')),
    ],
    [
      'redis: no memory',
      async () => void (await admin.config('SET', 'maxmemory', '1mb')),
      async () => void (await admin.config('SET', 'maxmemory', '0')),
    ],
    ['redis: stopped', () => void process.kill(redis.pid, 'SIGSTOP'), () => void process.kill(redis.pid, 'SIGCONT')],
    ['redis: killed', () => redis.kill('SIGKILL'), () => redis.restart()],
    ['backend: request lost', () => toUpstream.dropRequest()],
    ['backend: reply lost', () => toUpstream.dropReply()],
    ['backend: reply cut', () => toUpstream.cutReply(roll(200), { by: roll(2) === 0 ? 'fin' : 'reset' })],
    ['backend: slow', () => toUpstream.delay(roll(400), roll(400))],
    ['backend: half open', () => toUpstream.halfOpen()],
    ['backend: refuses', () => toUpstream.refuseConnects(), () => toUpstream.heal()],
    ['backend: healed', () => toUpstream.heal()],
    [
      'gateway: killed',
      async () => {
        const [i, before] = [roll(2), gateways]
        await before[i]?.process.end('SIGKILL')
        kills.push({ gateway: before[i]?.url ?? '', at: performance.now() })
        gateways[i] = (await starts[i]?.()) as Gateway
      },
    ],
    ['gateway: reloaded', () => reload(roll(2), roll(2))],
    [
      'gateway: a worker killed',
      () => {
        const { url, process: primary } = gateways[1] as Gateway
        const pids = (msg: string): unknown[] => primary.lines().flatMap((line) => (line.msg === msg ? [line.pid] : []))
        const living = pids('worker started').filter((pid) => !pids('worker ended unasked').includes(pid))
        const pid = living[roll(living.length || 1)]
        if (pid === undefined) return
        kills.push({ gateway: url, at: performance.now() })
        try {
          process.kill(Number(pid), 'SIGKILL')
        } catch {
          kills.pop() // it was killed a moment ago, and not missed yet
        }
      },
    ],
  ]
}

function reload(i: number, variant: number): void {
  const { file, url, admin, process: running } = gateways[i] as Gateway
  const address = (of: string): string => of.slice('http://'.length)
  writeFileSync(`${file}.new`, commonConfig(address(url), address(admin)) + configOf(i, variant))
  renameSync(`${file}.new`, file)
  running.child.kill('SIGHUP')
}

async function upset(until: number): Promise<Map<string, number>> {
  const roll = dice(SEED)
  const all = mishaps(roll)
  const met = new Map<string, number>()
  while (performance.now() < until) {
    const [name, cause, cure] = all[roll(all.length)] as Mishap
    met.set(name, (met.get(name) ?? 0) + 1)
    await cause()
    await sleep(50 + roll(350))
    await cure?.()
  }
  return met
}

describe('many faults at once', () => {
  fault(
    'soak',
    async () => {
      const asked: Asked[] = []
      let stopped = false
      const asks = async (i: number, category: string, user: () => string, pauseMs: number): Promise<void> => {
        while (!stopped) {
          asked.push(await client.ask(gateways[i]?.url ?? '', category, user()))
          await sleep(pauseMs)
        }
      }
      let requests = 0
      const askers = [0, 1].flatMap((i) => [
        ...USERS.flatMap((user) => [asks(i, 'tight', () => user, 40), asks(i, 'wide', () => user, 10)]),
        ...[0, 1].map(() => asks(i, LENIENT, () => `each-${++requests}`, 40)),
      ])
      const met = await upset(performance.now() + SECONDS * 1000)
      for (const proxy of [...toRedis, toUpstream]) await proxy.heal()
      for (const gateway of gateways) {
        await expect.poll(() => gateway.readiness(), { timeout: 30_000 }).toBe('200')
        expectUnharmed(gateway)
      }
      stopped = true
      await Promise.all(askers)
      console.log(summary(asked, met))

      expect(asked.filter(({ error }) => error === 'HANGS')).toEqual([])
      for (const category of CATEGORIES) await expectBooks(category, asked)
      await expectEach(asked)
    },
    SECONDS * 1000 + 60_000,
  )
})

/** What became of the requests in one category: each came to the upstream once, or not at all where its client was told so. */
function expectForwarded(category: string, mine: readonly Asked[]): Set<string> {
  const seen = upstream.of(category)
  const ids = new Set(seen.map(({ id }) => id))
  expect(seen).toHaveLength(ids.size) // never twice
  const refused = mine.filter(({ status, error }) => status === 429 || error === 'store_unavailable')
  expect(refused.filter(({ id }) => ids.has(id))).toEqual([])
  const unreached = mine.filter(({ error }) => error === 'upstream_unreachable')
  expect(unreached.filter(({ id }) => ids.has(id))).toEqual([])
  expect(mine.filter(({ status, id }) => status === 200 && !ids.has(id))).toEqual([])
  return ids
}

/** The charges of all users in one category, against what the upstream saw and what clients were told. */
async function expectBooks(category: string, asked: readonly Asked[]): Promise<void> {
  const mine = asked.filter((a) => a.category === category)
  const ids = expectForwarded(category, mine)
  const seen = upstream.of(category)
  const unseen = (user: string): Asked[] => mine.filter((a) => a.user === user && !ids.has(a.id))
  let all = 0
  for (const user of USERS) {
    const least = (seen.filter((s) => s.user === user).length + unseen(user).filter(isSentAndLost).length) * COST
    const most = least + (unseen(user).filter(isBroken).length + owedAtKills(unseen(user))) * COST
    await expect
      .poll(() => used(user, category, 'Personal'), { timeout: 30_000 })
      .toSatisfy(
        (tokens: number) => tokens >= least && tokens <= most,
        `${category} of ${user}: between ${least} and ${most}`,
      )
    all += await used(user, category, 'Personal')
  }
  await expect.poll(() => used('alice', category, 'Global'), { timeout: 30_000 }).toBe(all)
  if (category === 'tight') expect(all).toBeLessThanOrEqual(2 * TIGHT)
}

/** The charge of each request in the category that goes on without the store. */
async function expectEach(asked: readonly Asked[]): Promise<void> {
  const mine = asked.filter((a) => a.category === LENIENT)
  const ids = expectForwarded(LENIENT, mine)
  const store = closedAtEnd(openRedisStore({ url: redis.url, deadlineMs: 5000, observe: () => {} }))
  await whenReady(store)
  async function wrong() {
    const { all, each } = await usedByEach(store)
    const strange = mine.flatMap((a) => {
      const tokens = each.get(a.user) ?? 0
      return isPossible(a, ids.has(a.id), tokens) ? [] : [{ ...a, headers: null, seen: ids.has(a.id), tokens }]
    })
    const sum = [...each.values()].reduce((total, tokens) => total + tokens, 0)
    return { strange, all: all - sum }
  }
  await expect.poll(wrong, { timeout: 30_000 }).toEqual({ strange: [], all: 0 })
}

function isPossible(asked: Asked, seen: boolean, tokens: number): boolean {
  if (tokens !== 0 && tokens !== COST) return false
  if (seen || isSentAndLost(asked)) return tokens === COST || (mayBeAlone(asked) && isBeforeKill(asked, ALONE_MS))
  return tokens === 0 || isBroken(asked) || isBeforeKill(asked, OWED_MS)
}

/** Admitted without the store, and so owed: the limits that its answer names are a share. Where there is no answer, nobody knows. */
function mayBeAlone({ status, headers }: Asked): boolean {
  return status !== 200 || !String(headers['ratelimit-policy']).includes(`;q=${WIDE};`)
}

/** A connection that was cut by the kill is noticed a moment later. */
function isBeforeKill({ gateway, at }: Asked, forMs: number): boolean {
  return kills.some((kill) => kill.gateway === gateway && at > kill.at - forMs && at < kill.at + 5000)
}

/** Tokens in the one-day window: of all, and of each user. */
async function usedByEach(store: Store): Promise<{ all: number; each: Map<string, number> }> {
  const each = new Map<string, number>()
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { at, owners, next } = await store.scanUsers(cursor ?? null)
    for (const { id, counters } of owners) {
      each.set(id, usageOf(counters.get(LENIENT) ?? [], { seconds: DAY }, at).used)
    }
    cursor = next
  }
  const { at, global } = await store.readUsage('nobody', [LENIENT])
  return { all: usageOf(global[0] ?? [], { seconds: DAY }, at).used, each }
}

/** Charged for certain, although the upstream did not see it: else a charge that is lost could hide behind it. */
function isSentAndLost({ error }: Asked): boolean {
  return error === 'bad_upstream_answer' || error === 'upstream_timeout'
}

/** Nobody knows how far it came. */
function isBroken({ status, error }: Asked): boolean {
  return status === 0 && error !== 'ECONNREFUSED'
}

/**
 * Charges that gateways owed back when they were killed. Each has one asker for a user and a category: no more of its charges are
 * with the store, or waiting to be given back, than what two batches and a refund hold.
 */
function owedAtKills(unseen: readonly Asked[]): number {
  const failed = unseen.filter((a) => (a.status === 503 || a.status === 502) && !isSentAndLost(a))
  return kills.reduce((sum, kill) => {
    const late = failed.filter(({ gateway, at }) => gateway === kill.gateway && at < kill.at && at > kill.at - OWED_MS)
    return sum + Math.min(late.length, OWED_AT_A_KILL)
  }, 0)
}

async function used(user: string, category: string, scope: string): Promise<number> {
  type Status = { windows: Record<string, { scope: string; used: number }[]> }
  const { windows } = await readJson<Status>(`${gateways[0]?.url}/me/quota`, user)
  return windows[category]?.find((window) => window.scope === scope)?.used ?? -1
}

function summary(asked: readonly Asked[], met: ReadonlyMap<string, number>): string {
  const responses = new Map<string, number>()
  for (const { status, error } of asked) {
    const key = `${status} ${error}`.trim()
    responses.set(key, (responses.get(key) ?? 0) + 1)
  }
  const list = (counts: ReadonlyMap<string, number>): string =>
    [...counts].map(([name, n]) => `${name} x ${n}`).join(', ')
  return `seed ${SEED}, ${SECONDS} s, ${asked.length} requests, ${upstream.seen.length} seen by the upstream\nanswers: ${list(responses)}\nfaults: ${list(met)}`
}
