import { once } from 'node:events'
import { connect } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { countedName } from '../../src/quota/books.ts'
import { type EndedRun, NO_RETENTION } from '../../src/quota/history.ts'
import { addRuns } from '../../src/store/packed-history.ts'
import { createKeys } from '../../src/store/redis/keys.ts'
import type { Store } from '../../src/store/store.ts'
import { readUsageQuery, type UsageFields } from '../../src/usage/usage-query.ts'
import { readUsage, readUsagePage } from '../../src/usage/usage-reading.ts'
import { piecesOf, writerOf } from '../../src/usage/usage-text.ts'
import { table } from '../report.ts'
import { userName } from '../requests.ts'
import { askRedis, type Running } from '../servers.ts'
import { chargeEach, LIMITS, WINDOWS, withStore } from './charged-store.ts'
import type { Group } from './group.ts'

const USERS = 100_000
const HOUR = 3_600_000
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
  const { measured, long } = await withStore(redis, (store) => measureAll(redis, store, users))
  const rows = measured.map(({ name, cpu, redisCpu, wall, longest }) => [
    name,
    ...[cpu, redisCpu, wall, longest].map((ms) => ms.toFixed(0)),
  ])
  return {
    title: 'What each user used',
    intro: `${users.toLocaleString('en')} users with 35 days of a category of three windows, milliseconds:`,
    lines: table(['Question', 'Gateway CPU', 'Redis CPU', 'From end to end', 'Longest turn'], rows),
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
}

/** Asks each question, and counts the commands of Redis that took long. */
async function measureAll(redis: Running, store: Store, users: number) {
  const at = Date.now()
  await fill(redis, store, users, at)
  askRedis(redis.port, 'CONFIG', 'SET', 'slowlog-log-slower-than', String(LONG))
  askRedis(redis.port, 'SLOWLOG', 'RESET')
  const from = new Date(at - 35 * 24 * HOUR).toISOString()
  const questions: Question[] = [
    { name: 'a day of each user, the 100 with the most', fields: { order: 'tokens' }, isText: false, at },
    { name: 'a day of each user, all as CSV', fields: {}, isText: true, at },
    { name: '35 days of each user, the 100 with the most', fields: { order: 'tokens', from }, isText: false, at },
  ]
  const measured: Measured[] = []
  for (const question of questions) measured.push(await measure(redis, store, question))
  return { measured, long: Number(askRedis(redis.port, 'SLOWLOG', 'LEN')) }
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

/** Histories are written directly: real ones would take 35 days. */
async function fill(redis: Running, store: Store, users: number, at: number): Promise<void> {
  const limits = { personal: LIMITS, organisation: null, global: null }
  const charge = { organisation: null, category: 'read', limits }
  await chargeEach(store, users, (index) => [{ user: userName(index), cost: 1 + (index % 97), ...charge }])
  const keys = createKeys('tollgate')
  const socket = connect(redis.port, '127.0.0.1').resume()
  for (let index = 0; index < users; index++) {
    socket.write(setCommand(keys.history(userName(index)), historyAt(at)))
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
