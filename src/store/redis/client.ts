import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { Cluster, Command, Redis, type RedisOptions } from 'ioredis'
import { messageOf } from '../../errors.ts'
import type { ClientCredentials } from '../../lib/tls.ts'
import { type Hook, type MissingHook, missingAmong } from '../../node/hooks.ts'
import { giveDeadline } from '../../node/redis-deadline.ts'
import { type Judge, judgeReadyCheck } from '../../node/redis-ready-check.ts'
import { giveUpSilent } from '../../node/redis-silence.ts'
import { inWords } from './script-words.ts'
import { isForbidden, isOfSelect } from './store-errors.ts'

/** The only file that knows ioredis. */

const script = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

const SECTION = script('./form/section.lua')
/** The forms of a counter, of what is left of a forgotten user, and of a history, for scripts that read them. */
const FORMS = script('./form/windows.lua') + script('./forgotten.lua') + script('./history.lua')

export const CHARGE_LUA = inWords(
  SECTION + script('./charge-one.lua') + FORMS + script('./once.lua') + script('./charge.lua'),
)
const LATEST_END = script('./latest-end.lua')
export const CONTROL_LUA = inWords(SECTION + FORMS + LATEST_END + script('./control.lua'))

/** For scripts that leave out a key of another type. */
const TYPES = script('./types.lua')

const SCRIPTS = {
  settleBatch: { lua: CHARGE_LUA },
  addTally: { lua: script('./tally.lua'), numberOfKeys: 1 },
  addUsage: { lua: TYPES + script('./forgotten.lua') + script('./flush.lua') },
  changeControl: { lua: CONTROL_LUA },
  beat: { lua: script('./beat.lua'), numberOfKeys: 3 },
  noteCounted: { lua: script('./note-counted.lua'), numberOfKeys: 1 },
  noteUses: { lua: script('./note-uses.lua'), numberOfKeys: 2 },
  keepKeySet: { lua: script('./keep-key-set.lua'), numberOfKeys: 1 },
  forgetRuns: { lua: inWords(SECTION + FORMS + LATEST_END + script('./forget-runs.lua')) },
  scanKeys: { lua: script('./scan.lua'), numberOfKeys: 1 },
  noteUsers: { lua: TYPES + script('./known-users.lua') },
  raiseAlerts: { lua: TYPES + script('./alert-raise.lua') },
  takeAlerts: { lua: TYPES + script('./alert-take.lua') },
  finishAlert: { lua: script('./alert-finish.lua'), numberOfKeys: 4 },
  giveUpAlerts: { lua: TYPES + script('./alert-give-up.lua'), numberOfKeys: 5 },
}

interface Scripts {
  /** Texts of the reply are Buffers. */
  settleBatchBuffer(keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  addTally(key: string, ...counts: number[]): Promise<unknown>
  addUsage(keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  changeControl(keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  beat(
    ...args: [...keys: [string, string, string], instance: string, report: string, ...bounds: number[]]
  ): Promise<unknown>
  noteUsers(keyCount: number, ...keysAndArguments: string[]): Promise<number[]>
  raiseAlerts(keyCount: number, ...keysAndArguments: string[]): Promise<string>
  takeAlerts(keyCount: number, ...keysAndArguments: string[]): Promise<string[]>
  finishAlert(...keysAndArguments: string[]): Promise<number>
  giveUpAlerts(...keysAndArguments: string[]): Promise<number>
  noteCounted(key: string, ...names: string[]): Promise<unknown>
  noteUses(tokens: string, uses: string, ...hashesAndTimes: (string | number)[]): Promise<unknown>
  keepKeySet(key: string, text: string, forMs: number): Promise<unknown>
  forgetRuns(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
  scanKeys(ours: string, cursor: string, pattern: string, count: number): Promise<[next: string, keys: string[]]>
}

export type RedisClient = (Redis | Cluster) & Scripts

const CONNECT_MS = 2000

/** How Redis is reached, and who we are there. */
export interface RedisAccess {
  /**
   * redis://, redis+unix:///path, redis+sentinel://host:port,host:port/NAME or redis+cluster://host:port,host:port.
   * With `rediss` they are by TLS; `valkey` is the same as `redis`.
   */
  readonly url: string
  /** In place of those of the URL. */
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** For a URL by TLS. Default the authorities of the system. */
  readonly tls?: ClientCredentials
  /** How sentinels are asked. Default as Redis, without a login. */
  readonly sentinel?: {
    readonly username?: string
    readonly password?: string
    /** `null` for none. Default as Redis. */
    readonly tls?: ClientCredentials | null
  }
}

export interface ConnectOptions extends RedisAccess {
  /** How long a command may take, in milliseconds. */
  readonly deadlineMs: number
}

/** How long a connection may bring nothing while commands wait, in milliseconds: longer than each of them waits. */
const silenceOf = (deadlineMs: number): number => Math.max(1000, deadlineMs * 5)

/**
 * By default ioredis sends a command again after a reconnect, and so charges twice when only the reply was lost.
 * Here nothing is sent twice behind our back and nothing waits for a connection: the ledger sends a batch again,
 * under its sequence number.
 */
function optionsOf(deadlineMs: number) {
  return {
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    // If that fails, ioredis rejects a promise that nobody has, which ends the process: subscription.ts subscribes
    // itself.
    autoResubscribe: false,
    connectTimeout: CONNECT_MS,
    // A sentinel that does so is given up too: by default ioredis waits for ever. Connecting to it counts too.
    sentinelCommandTimeout: CONNECT_MS + silenceOf(deadlineMs),
    // By default ioredis waits for 2 s when it closes a connection, also one that is closed already. A process would
    // not end before that.
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
 * 100 ms, doubled to 1 s, half of it random: many replicas must not come back at the same moment.
 * @param attempt from 1
 */
function reconnectDelay(attempt: number): number {
  const delay = Math.min(1000, 50 * 2 ** Math.min(attempt, 10))
  return delay / 2 + Math.random() * (delay / 2)
}

/** Looks once for what is leaned on inside of ioredis. Nothing is connected. */
export function missingInIoredis(): MissingHook[] {
  const redis = new Redis({ lazyConnect: true })
  const silence = 'an end of commands that a connection swallows'
  const hooks: readonly Hook<object>[] = [
    ['Redis#sendCommand of ioredis', 'the deadline of commands', () => typeof redis.sendCommand === 'function'],
    ['Command#isSettled of ioredis', 'the deadline of commands', () => 'isSettled' in new Command('ping')],
    ['Redis#commandQueue of ioredis', silence, (inside) => 'commandQueue' in inside],
    ['Redis#info of ioredis', 'the reason why a server is not taken', () => typeof redis.info === 'function'],
  ]
  return missingAmong(redis, hooks)
}

export function connect({ deadlineMs, ...access }: ConnectOptions): RedisClient {
  const options = optionsOf(deadlineMs)
  const place = parseUrl(access.url)
  const login = loginOf(access, place)
  const tls = place.encrypted ? { tls: tlsOf(access.tls) } : {}
  /** Of a command, too: whoever waits for a charge gives up before, unless the store is that far away. */
  const prepared = (redis: Redis): Redis => {
    giveDeadline(redis, 4 * deadlineMs)
    // A connection that swallows commands (half open, stopped process) is given up, so that a new one can be tried.
    giveUpSilent(redis, silenceOf(deadlineMs))
    judgeReadyCheck(redis, judge)
    return redis
  }
  if (place.kind === 'single') {
    const { database, ...address } = place.address
    const redis = new Redis({ ...options, ...login, ...tls, ...address, ...(database > 0 && { db: database }) })
    return prepared(inItsDatabase(redis)) as RedisClient
  }
  if (place.kind === 'sentinel') {
    const sentinels = { sentinels: place.hosts, name: place.name, ...askingSentinels(access, place.encrypted) }
    return prepared(new Redis({ ...options, ...login, ...tls, ...sentinels })) as RedisClient
  }
  const cluster = new Cluster(place.hosts, {
    redisOptions: { ...options, ...login, ...tls },
    // A certificate is for the name of a node. ioredis would connect to the address behind it.
    ...(place.encrypted && { dnsLookup: (name, found) => found(null, name) }),
    scripts: SCRIPTS,
    enableOfflineQueue: false,
    // Otherwise a command whose connection was lost would be sent again. An error of the second try alone (no node is there,
    // no memory) would then say that nothing was applied.
    retryDelayOnFailover: 0,
    lazyConnect: true,
  })
  return cluster.on('+node', prepared) as RedisClient
}

function tlsOf({ ca, cert, key, serverName }: ClientCredentials = {}): ConnectionOptions {
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(serverName && { servername: serverName }),
  }
}

/**
 * Names the user whose password it is if there is a password alone. A Redis that asks for none takes any from a user by
 * name. Without the name ioredis would print that for itself, in the middle of the log.
 */
function loginOf(access: RedisAccess, place: Place): { username?: string; password?: string } {
  const { username = place.username, password = place.password } = access
  return password === undefined ? {} : { username: username ?? DEFAULT_USER, password }
}

/** What ioredis asks sentinels with. */
function askingSentinels({ sentinel = {}, tls }: RedisAccess, encrypted: boolean) {
  const { username, password } = sentinel
  const own = sentinel.tls === undefined ? (encrypted ? (tls ?? {}) : null) : sentinel.tls
  return {
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    ...(own !== null && { sentinelTLS: tlsOf(own), enableTLSForSentinelMode: encrypted }),
  }
}

/** One of the sentinels, as a Redis of its own. */
export function accessToSentinel({ sentinel = {}, tls, url }: RedisAccess, { host, port }: Host): RedisAccess {
  const isEncrypted = sentinel.tls === undefined ? parseUrl(url).encrypted : sentinel.tls !== null
  const { username, password } = sentinel
  return {
    url: `redis${isEncrypted ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(isEncrypted && { tls: sentinel.tls ?? tls ?? {} }),
  }
}

/**
 * A user without the right to INFO may use the connection, and the store warns. A Redis that is loading is an error,
 * which is reported and tried again. Otherwise it would be a silence of up to 10 s.
 */
const judge: Judge = (error, info) => {
  if (error && isForbidden(error)) return { error: null, info: '' }
  return { error: error ?? (isLoading(info) ? new Error('LOADING Redis is loading its data') : null), info }
}

function isLoading(info: string | undefined): boolean {
  return /^loading:1/m.test(info ?? '')
}

const DEFAULT_USER = 'default'

/** Whether we have a password for a user of whom Redis wants none. Never rejects. */
export async function asksForNoPassword(redis: RedisClient): Promise<boolean> {
  const { username, password } = (redis instanceof Cluster ? redis.options.redisOptions : redis.options) ?? {}
  if (username !== DEFAULT_USER || !password) return false
  // Redis says that it asks for none only if a password comes alone. The right one logs in anew, as who we are.
  return redis.call('AUTH', password).then(
    () => false,
    (error: unknown) => messageOf(error).includes('without any password configured'),
  )
}

/**
 * Ends a connection whose SELECT was refused: there is no such number, or no right to it. ioredis reports that and goes
 * on in database 0, whose counters are those of somebody else.
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

/** A Unix socket, or a host and a port. */
type Address = { readonly path: string } | Host

/** What a URL says. */
export type Place = { readonly username?: string; readonly password?: string; readonly encrypted: boolean } & (
  | { readonly kind: 'single'; readonly address: Address & { readonly database: number } }
  | { readonly kind: 'sentinel'; readonly hosts: Host[]; readonly name: string }
  | { readonly kind: 'cluster'; readonly hosts: Host[] }
)

const URL_PARTS =
  /^(?:redis|valkey)(s?)(?:\+(sentinel|cluster|unix))?:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^/]*)(?:\/(.*))?$/

/** WHATWG URLs hold one host; sentinels and clusters are named by several. */
export function parseUrl(url: string): Place {
  const [, encrypted, kind, user, password, list = '', rest = ''] = URL_PARTS.exec(url) ?? []
  const common = {
    encrypted: encrypted === 's',
    ...(user && { username: decodeURIComponent(user) }),
    ...(password && { password: decodeURIComponent(password) }),
  }
  if (kind === 'unix')
    return { kind: 'single', address: { path: decodeURIComponent(`/${rest}`), database: 0 }, ...common }
  const hosts = list.split(',').map((text) => hostOf(text, kind === 'sentinel' ? 26379 : 6379))
  if (kind === 'sentinel') return { kind, hosts, name: rest, ...common }
  if (kind === 'cluster') return { kind, hosts, ...common }
  return { kind: 'single', address: { ...(hosts[0] as Host), database: Number(rest) }, ...common }
}

function hostOf(text: string, defaultPort: number): Host {
  const { hostname, port } = new URL(`redis://${text}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) }
}
