import { readFileSync } from 'node:fs'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { messageOf } from '../../errors.ts'
import { giveDeadline } from '../../node/redis-deadline.ts'
import { type Judge, judgeReadyCheck } from '../../node/redis-ready-check.ts'
import { isForbidden, isOfSelect } from './store-errors.ts'

/** The only file that knows ioredis. */

const script = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

/** The form of a counter, for scripts that read it. */
const SECTIONS = script('./sections.lua')

export const CHARGE_LUA = SECTIONS + script('./charge.lua')
export const CONTROL_LUA = SECTIONS + script('./control.lua')

const SCRIPTS = {
  settleBatch: { lua: CHARGE_LUA },
  addTally: { lua: script('./tally.lua'), numberOfKeys: 1 },
  changeControl: { lua: CONTROL_LUA },
  beat: { lua: script('./beat.lua'), numberOfKeys: 3 },
  scanKeys: { lua: script('./scan.lua'), numberOfKeys: 1 },
  noteUsers: { lua: script('./known-users.lua') },
}

interface Scripts {
  /** Texts of the reply are Buffers. */
  settleBatchBuffer(keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  addTally(key: string, ...counts: number[]): Promise<unknown>
  changeControl(keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  beat(
    ...args: [...keys: [string, string, string], instance: string, report: string, forgetMs: number, form: number]
  ): Promise<number>
  noteUsers(keyCount: number, ...keysAndArguments: string[]): Promise<number[]>
  scanKeys(ours: string, cursor: string, pattern: string, count: number): Promise<[next: string, keys: string[]]>
}

export type RedisClient = (Redis | Cluster) & Scripts

const CONNECT_MS = 2000

export interface ConnectOptions {
  /** redis://, rediss://, redis+sentinel://host:port,host:port/NAME or redis+cluster://host:port,host:port */
  readonly url: string
  /** How long a command may take, in milliseconds. */
  readonly deadlineMs: number
}

/**
 * By default ioredis sends a command again after a reconnect, and so charges twice when only the reply was lost.
 * Here nothing is sent twice behind our back and nothing waits for a connection: the ledger sends a batch again,
 * under its sequence number.
 */
function optionsOf(deadlineMs: number) {
  const silence = Math.max(1000, deadlineMs * 4)
  return {
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    // Where that fails, ioredis leaves a rejection to nobody, which ends the process: subscription.ts does it.
    autoResubscribe: false,
    // A connection that swallows commands (half open, stopped process) is given up, so that a new one can be tried.
    socketTimeout: silence,
    connectTimeout: CONNECT_MS,
    // And so is such a sentinel, for the next one: by default ioredis waits for ever. Connecting to it counts too.
    sentinelCommandTimeout: CONNECT_MS + silence,
    // By default ioredis waits for 2 s when it closes a connection, also one that is closed already: a process would not end before that.
    disconnectTimeout: deadlineMs,
    retryStrategy: reconnectDelay,
    reconnectOnError: onceASecond((error) => error.message.includes('READONLY')),
    // By default each connection names its library by CLIENT SETINFO. A user without that right leaves an entry in ACL LOG each time.
    disableClientInfo: true,
    scripts: SCRIPTS,
    lazyConnect: true,
  } satisfies RedisOptions
}

/**
 * A primary that was demoted refuses every write and keeps its connections: the new one is found by connecting again.
 * Once a second, so that a fleet of replicas does not storm it until then.
 */
function onceASecond(matches: (error: Error) => boolean): (error: Error) => boolean {
  let last = -Infinity
  return (error) => {
    if (!matches(error) || performance.now() - last < 1000) return false
    last = performance.now()
    return true
  }
}

/**
 * 100 ms, doubled to 1 s, half of it random so that many replicas do not come back at the same moment.
 * @param attempt from 1
 */
function reconnectDelay(attempt: number): number {
  const delay = Math.min(1000, 50 * 2 ** Math.min(attempt, 10))
  return delay / 2 + Math.random() * (delay / 2)
}

export function connect({ url, deadlineMs }: ConnectOptions): RedisClient {
  const options = optionsOf(deadlineMs)
  const parsed = parseUrl(withUser(url))
  const { username, password } = parsed
  /** Commands have twice the caller's deadline, which is to pass first. */
  const prepared = (redis: Redis): Redis => {
    giveDeadline(redis, 2 * deadlineMs)
    judgeReadyCheck(redis, judge)
    return redis
  }
  if (parsed.kind === 'single') return prepared(inItsDatabase(new Redis(parsed.url, options))) as RedisClient
  const login = { ...(username && { username }), ...(password && { password }) }
  if (parsed.kind === 'sentinel') {
    return prepared(new Redis({ ...options, ...login, sentinels: parsed.hosts, name: parsed.name })) as RedisClient
  }
  const cluster = new Cluster(parsed.hosts, {
    redisOptions: { ...options, ...login },
    scripts: SCRIPTS,
    enableOfflineQueue: false,
    // A command whose connection was lost would be sent again, and an error that only the second try met (no node is there,
    // no memory) would say that it was not applied.
    retryDelayOnFailover: 0,
    lazyConnect: true,
  })
  return cluster.on('+node', prepared) as RedisClient
}

/**
 * A user without the right to INFO may use the connection, and the store warns. A Redis that is loading is an error, which is reported and
 * tried again, instead of a silence of up to 10 s.
 */
const judge: Judge = (error, info) => {
  if (error && isForbidden(error)) return { error: null, info: '' }
  return { error: error ?? (isLoading(info) ? new Error('LOADING Redis is loading its data') : null), info }
}

function isLoading(info: string | undefined): boolean {
  return /^loading:1/m.test(info ?? '')
}

const DEFAULT_USER = 'default'

/**
 * Names the user that a password alone is of. Where Redis asks for none, it takes any from a user by name; without the name ioredis
 * would print that for itself, in the middle of the log.
 */
function withUser(url: string): string {
  return url.replace(/^([a-z+]+:\/\/):(?=[^@/]+@)/, `$1${DEFAULT_USER}:`)
}

/** Whether we have a password for a user of whom Redis wants none. Never rejects. */
export async function asksForNoPassword(redis: RedisClient): Promise<boolean> {
  const { username, password } = (redis instanceof Cluster ? redis.options.redisOptions : redis.options) ?? {}
  if (username !== DEFAULT_USER || !password) return false
  // Of a password alone Redis says so. The right one logs in anew, as who we are.
  return redis.call('AUTH', password).then(
    () => false,
    (error: unknown) => messageOf(error).includes('without any password configured'),
  )
}

/**
 * If SELECT is refused (no such number, or no right to it), ioredis reports it and goes on in database 0: its counters are
 * those of somebody else. Such a connection is none.
 */
function inItsDatabase(redis: Redis): Redis {
  redis.on('error', (error: Error) => {
    if (isOfSelect(error)) redis.disconnect(true)
  })
  return redis
}

export interface Host {
  readonly host: string
  readonly port: number
}

type ParsedUrl = { readonly username?: string; readonly password?: string } & (
  | { readonly kind: 'single'; readonly url: string }
  | { readonly kind: 'sentinel'; readonly hosts: Host[]; readonly name: string }
  | { readonly kind: 'cluster'; readonly hosts: Host[] }
)

/** WHATWG URLs hold one host; sentinels and clusters are named by several. */
export function parseUrl(url: string): ParsedUrl {
  const many = /^redis\+(sentinel|cluster):\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^/]+)(?:\/(.*))?$/.exec(url)
  if (many === null) return { kind: 'single', url }
  const [, kind, user, password, list = '', name = ''] = many
  const hosts = list.split(',').map((text) => hostOf(text, kind === 'sentinel' ? 26379 : 6379))
  const login = {
    ...(user && { username: decodeURIComponent(user) }),
    ...(password && { password: decodeURIComponent(password) }),
  }
  return kind === 'sentinel' ? { kind, hosts, name, ...login } : { kind: 'cluster', hosts, ...login }
}

function hostOf(text: string, defaultPort: number): Host {
  const { hostname, port } = new URL(`redis://${text}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) }
}
