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

/** Only this file imports ioredis. */

const script = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

const SECTION = script('./form/section.lua')
/** The forms of counters, forgotten users and histories, for scripts that read them. */
const FORMS = script('./form/windows.lua') + script('./forgotten.lua') + script('./history.lua')

export const CHARGE_LUA = inWords(
  SECTION + script('./charge-one.lua') + FORMS + script('./once.lua') + script('./charge.lua'),
)
export const CONTROL_LUA = inWords(SECTION + FORMS + script('./control.lua'))

/** The time of Redis, and how to skip a key of another type. */
const COMMON = script('./common.lua')

/** How events of alerts that are over are bounded. */
const ALERT_DONE = script('./alert-done.lua')

const SCRIPTS = {
  settleBatch: { lua: CHARGE_LUA },
  addTally: { lua: script('./tally.lua') },
  addUsage: { lua: COMMON + script('./forgotten.lua') + script('./flush.lua') },
  changeControl: { lua: CONTROL_LUA },
  beat: { lua: COMMON + script('./beat.lua') },
  noteCounted: { lua: COMMON + script('./note-counted.lua') },
  noteUses: { lua: script('./note-uses.lua') },
  putLater: { lua: script('./put-later.lua') },
  forgetRuns: { lua: COMMON + inWords(SECTION + FORMS + script('./forget-runs.lua')) },
  scanKeys: { lua: script('./scan.lua') },
  noteTimes: { lua: COMMON + script('./note-times.lua') },
  raiseAlerts: { lua: COMMON + script('./alert-raise.lua') },
  takeAlerts: { lua: COMMON + script('./alert-take.lua') },
  finishAlert: { lua: COMMON + ALERT_DONE + script('./alert-finish.lua') },
  giveUpAlerts: { lua: COMMON + ALERT_DONE + script('./alert-give-up.lua') },
}

export type ScriptName = keyof typeof SCRIPTS
type Script = (keyCount: number, ...keysAndArguments: (string | number)[]) => Promise<unknown>
/** `settleBatchBuffer` is `settleBatch` with Buffers for the texts in its reply. */
type Scripts = Readonly<Record<ScriptName | 'settleBatchBuffer', Script>>

export type RedisClient = (Redis | Cluster) & Scripts

const CONNECT_MS = 2000

/** How to reach Redis and log in. */
export interface RedisAccess {
  /**
   * redis://, redis+unix:///path, redis+sentinel://host:port,host:port/NAME or redis+cluster://host:port,host:port.
   * `rediss` means TLS, and `valkey` can be written for `redis`.
   */
  readonly url: string
  /** Replaces the one in the URL. */
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** For a URL with TLS. Default the authorities of the system. */
  readonly tls?: ClientCredentials
  /** How to reach sentinels. By default like Redis, but without a login. */
  readonly sentinel?: {
    readonly username?: string
    readonly password?: string
    /** `null` for none. By default like Redis. */
    readonly tls?: ClientCredentials | null
  }
}

export interface ConnectOptions extends RedisAccess {
  /** The deadline of a charge, in milliseconds. A command may take four times as long. */
  readonly deadlineMs: number
}

/** For how many milliseconds a connection may bring nothing while commands wait. It is longer than any command waits. */
const silenceOf = (deadlineMs: number): number => Math.max(1000, deadlineMs * 5)

/**
 * By default ioredis sends a command again after a reconnect, and so charges twice if only the reply was lost. With
 * these options it sends nothing twice, and nothing waits for a connection. The ledger sends a batch again, under its
 * sequence number.
 */
function optionsOf(deadlineMs: number) {
  return {
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    // A failure would reject a promise inside ioredis that nobody handles, which ends the process. subscription.ts
    // subscribes by itself.
    autoResubscribe: false,
    connectTimeout: CONNECT_MS,
    // A silent sentinel is given up too, because by default ioredis waits for ever. The time includes connecting to it.
    sentinelCommandTimeout: CONNECT_MS + silenceOf(deadlineMs),
    // By default ioredis waits 2 s when it closes a connection, even one that is closed already, and the process waits
    // with it.
    disconnectTimeout: deadlineMs,
    retryStrategy: reconnectDelay,
    reconnectOnError: onceASecond((error) => error.message.includes('READONLY')),
    // Otherwise each connection names its library by CLIENT SETINFO, and adds an entry to ACL LOG if its user has no right to that.
    disableClientInfo: true,
    scripts: SCRIPTS,
    lazyConnect: true,
  } satisfies RedisOptions
}

/**
 * A primary that was demoted refuses every write but keeps its connections. To find the new primary, connect again, but
 * only once a second, so that a fleet of replicas does not flood it.
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
 * 100 ms, doubled up to 1 s, half of it random, so that many replicas do not come back at the same moment.
 * @param attempt from 1
 */
function reconnectDelay(attempt: number): number {
  const delay = Math.min(1000, 50 * 2 ** Math.min(attempt, 10))
  return delay / 2 + Math.random() * (delay / 2)
}

/** Checks once whether everything that we use inside ioredis is there. It connects to nothing. */
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
  /** Prepares a connection. A command is given up after four deadlines. A charge has given up before, unless the store is very far away. */
  const prepared = (redis: Redis): Redis => {
    giveDeadline(redis, 4 * deadlineMs)
    // A connection that swallows commands (half open, stopped process) is given up, so that a new one is tried.
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
    // A certificate is made for the name of a node, but ioredis would connect to the address behind the name.
    ...(place.encrypted && { dnsLookup: (name, found) => found(null, name) }),
    scripts: SCRIPTS,
    enableOfflineQueue: false,
    // Otherwise ioredis would send a command again after its connection was lost. The error of the second attempt (no node,
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
 * Names the user if the URL has only a password. A Redis without passwords accepts any password from a named user.
 * Without the name ioredis would print a warning into the log.
 */
function loginOf(access: RedisAccess, place: Place): { username?: string; password?: string } {
  const { username = place.username, password = place.password } = access
  return password === undefined ? {} : { username: username ?? DEFAULT_USER, password }
}

/** The login with which ioredis asks sentinels. */
function askingSentinels({ sentinel = {}, tls }: RedisAccess, encrypted: boolean) {
  const { username, password } = sentinel
  const own = sentinel.tls === undefined ? (encrypted ? (tls ?? {}) : null) : sentinel.tls
  return {
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    ...(own !== null && { sentinelTLS: tlsOf(own), enableTLSForSentinelMode: encrypted }),
  }
}

/** How to reach one of the sentinels, as if it was a Redis. */
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
 * A user without the right to INFO may use the connection, and the store warns. A Redis that is loading counts as an
 * error, which is reported, and ioredis tries again. Otherwise nothing would be reported for up to 10 s.
 */
const judge: Judge = (error, info) => {
  if (error && isForbidden(error)) return { error: null, info: '' }
  return { error: error ?? (isLoading(info) ? new Error('LOADING Redis is loading its data') : null), info }
}

function isLoading(info: string | undefined): boolean {
  return /^loading:1/m.test(info ?? '')
}

const DEFAULT_USER = 'default'

/** Whether we send a password although Redis wants none from our user. Never rejects. */
export async function asksForNoPassword(redis: RedisClient): Promise<boolean> {
  const { username, password } = (redis instanceof Cluster ? redis.options.redisOptions : redis.options) ?? {}
  if (username !== DEFAULT_USER || !password) return false
  // Redis says so only to a password without a user. The right password logs in again as the same user.
  return redis.call('AUTH', password).then(
    () => false,
    (error: unknown) => messageOf(error).includes('without any password configured'),
  )
}

/**
 * Ends a connection whose SELECT was refused, because the number does not exist or the right is missing. ioredis would
 * report it and go on in database 0, which belongs to somebody else.
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

/** The parts of a URL. */
export type Place = { readonly username?: string; readonly password?: string; readonly encrypted: boolean } & (
  | { readonly kind: 'single'; readonly address: Address & { readonly database: number } }
  | { readonly kind: 'sentinel'; readonly hosts: Host[]; readonly name: string }
  | { readonly kind: 'cluster'; readonly hosts: Host[] }
)

const URL_PARTS =
  /^(?:redis|valkey)(s?)(?:\+(sentinel|cluster|unix))?:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^/]*)(?:\/(.*))?$/

/** WHATWG URLs have one host, but sentinels and clusters need several. */
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
