import { once } from 'node:events'
import { connect } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { countedName } from '../../src/quota/books.ts'
import type { EndedRun } from '../../src/quota/history.ts'
import { NO_RETENTION } from '../../src/quota/history.ts'
import { addRuns } from '../../src/store/packed-history.ts'
import { createKeys } from '../../src/store/redis/keys.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { readUsageQuery, type UsageFields } from '../../src/usage/usage-query.ts'
import { readUsage, readUsagePage } from '../../src/usage/usage-reading.ts'
import { piecesOf, writerOf } from '../../src/usage/usage-text.ts'
import { table } from '../report.ts'
import { userName } from '../requests.ts'
import { askRedis, PLENTY, type Running } from '../servers.ts'
import { until } from '../until.ts'
import type { Group } from './group.ts'

const USERS = 100_000
const BATCH = 500
const HOUR = 3_600_000
const WINDOWS = [
  { name: '1h', seconds: 3600 },
  { name: '5h', seconds: 18_000 },
  { name: '1d', seconds: 86_400 },
]
/** The defaults of `usage`: 35 days of the longest window, 48 hours of the others. */
const KEPT = { ...NO_RETENTION, longestSeconds: 35 * 86_400, shorterSeconds: 48 * 3600 }
const RULES = { windows: WINDOWS, kept: KEPT, books: null, zone: 'UTC' }
const SINCE = new Map(WINDOWS.map((window) => [countedName(window), 0]))
/** Microseconds. A command that takes longer counts as long. */
const LONG = 5000

/** The cost of reporting the usage of each of many users. */
export const usage: Group = async ({ stage, quick }) => {
  const users = quick ? USERS / 10 : USERS
  const redis = await stage.redis()
  const store = openRedisStore({ url: `redis://127.0.0.1:${redis.port}`, deadlineMs: 10_000, observe: () => {} })
  try {
    await until(() => store.ping())
    const at = Date.now()
    await fill(redis, store, users, at)
    askRedis(redis.port, 'CONFIG', 'SET', 'slowlog-log-slower-than', String(LONG))
    askRedis(redis.port, 'SLOWLOG', 'RESET')
    const asked: readonly (readonly [string, UsageFields, boolean])[] = [
      ['a day of each user, the 100 with the most', { order: 'tokens' }, false],
      ['a day of each user, all as CSV', {}, true],
      [
        '35 days of each user, the 100 with the most',
        { order: 'tokens', from: new Date(at - 35 * 24 * HOUR).toISOString() },
        false,
      ],
    ]
    const measured: Measured[] = []
    for (const [name, fields, isText] of asked) measured.push(await measure(redis, store, { name, fields, isText, at }))
    const long = Number(askRedis(redis.port, 'SLOWLOG', 'LEN'))
    const rows = measured.map(({ name, cpu, redisCpu, wall, longest }) => [
      name,
      ...[cpu, redisCpu, wall, longest].map((ms) => ms.toFixed(0)),
    ])
    return {
      title: 'What each user used',
      lines: [
        `${users.toLocaleString('en')} users with 35 days of a category of three windows, milliseconds:`,
        '',
        ...table(['Question', 'Gateway CPU', 'Redis CPU', 'From end to end', 'Longest turn'], rows),
      ],
      figures: [
        {
          name: `${measured[0]?.name}, CPU of the gateway`,
          unit: 'ms',
          values: [measured[0]?.cpu ?? Infinity],
          target: { below: 1000 },
        },
        { name: `commands of Redis above ${LONG / 1000} ms`, unit: 'x', values: [long], target: { atMost: 0 } },
      ],
    }
  } finally {
    await store.close()
  }
}

interface Question {
  readonly name: string
  readonly fields: UsageFields
  readonly isText: boolean
  readonly at: number
}

/** Milliseconds. */
interface Measured {
  readonly name: string
  readonly cpu: number
  readonly redisCpu: number
  readonly wall: number
  /** The longest time that the event loop was blocked. */
  readonly longest: number
}

async function measure(redis: Running, store: Store, { name, fields, isText, at }: Question): Promise<Measured> {
  const read = readUsageQuery(fields, { ...RULES, at, since: SINCE })
  if ('problems' in read) throw new Error(JSON.stringify(read.problems))
  const { query } = read
  const { signal } = new AbortController()
  const wish = { query, limit: 100, signal }
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const [cpu, redisCpu, began] = [process.cpuUsage(), cpuOf(redis), performance.now()]
  delay.enable()
  if (isText) for await (const _piece of piecesOf(writerOf('csv', query), readUsage(store, wish)));
  else await readUsagePage(store, { ...wish, from: { step: null, after: null } })
  delay.disable()
  const { user, system } = process.cpuUsage(cpu)
  const wall = performance.now() - began
  return { name, cpu: (user + system) / 1000, redisCpu: cpuOf(redis) - redisCpu, wall, longest: delay.max / 1e6 }
}

function cpuOf({ port }: Running): number {
  const info = askRedis(port, 'INFO', 'cpu')
  const seconds = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1])
  return 1000 * (seconds('used_cpu_user') + seconds('used_cpu_sys'))
}

/** Counters come from the gateway's own store. Histories are written directly: real ones would take 35 days. */
async function fill(redis: Running, store: Store, users: number, at: number): Promise<void> {
  const limits = WINDOWS.map((window) => ({ window, limit: PLENTY }))
  const keys = createKeys('tollgate')
  const socket = connect(redis.port, '127.0.0.1').resume()
  for (let from = 0, sequence = 1; from < users; from += BATCH, sequence++) {
    const names = Array.from({ length: Math.min(BATCH, users - from) }, (_, i) => userName(from + i))
    const charges = names.map((user, i) => ({
      user,
      organisation: null,
      category: 'read',
      cost: 1 + ((from + i) % 97),
      limits: { personal: limits, organisation: null, global: null },
    }))
    await store.settle({ instance: 'bench', sequence, refunds: [], charges })
    for (const user of names) socket.write(setCommand(keys.history(user), historyAt(at)))
    if (socket.writableNeedDrain) await once(socket, 'drain')
  }
  socket.end()
  await once(socket, 'close')
}

let made: Buffer | null = null

/** The same history for everybody: differences would not change the cost. */
function historyAt(at: number): Buffer {
  made ??= WINDOWS.flatMap(({ seconds }) => endedRuns(seconds, at)).reduce(
    (bytes: Buffer, run) => addRuns(bytes, 'read', [run], at),
    Buffer.alloc(0),
  )
  return made
}

function endedRuns(seconds: number, at: number): EndedRun[] {
  const keptSeconds = seconds === 86_400 ? KEPT.longestSeconds : KEPT.shorterSeconds
  const count = Math.floor(keptSeconds / seconds)
  return Array.from({ length: count }, (_, i) => ({
    seconds,
    startedAt: at - (count - i) * seconds * 1000,
    used: 1 + i,
    keptSeconds,
  }))
}

function setCommand(key: string, value: Buffer): Buffer {
  const part = (bytes: Buffer) => [Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]
  return Buffer.concat([Buffer.from('*3\r\n'), ...[Buffer.from('SET'), Buffer.from(key), value].flatMap(part)])
}
