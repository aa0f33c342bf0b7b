import type { ClientTls, StoreConfig } from '../../config/config.ts'
import type { ClientCredentials } from '../../lib/tls.ts'
import type { StoreWarning } from '../../observe/observation.ts'
import { StoreError } from '../../quota/quota-store.ts'
import type { RedisAccess } from '../../store/redis/client.ts'
import type { Inspected } from '../../store/redis/inspect.ts'
import { readClientTls } from '../certificate.ts'
import { failed, type Tried } from '../connect/tried.ts'
import { SetupError } from '../setup-error.ts'
import type { ConfigOf, LocationOf, StoreKind } from './kind.ts'

type Redis = LocationOf<'redis'>

/** Loads the client of Redis only with its store, because a gateway with the embedded store should not spend 10 MB on it. */
export const redis: StoreKind<Redis> = {
  name: ({ url }) => url.replace(/\/\/.*@/, '//'),
  place: ({ url }) => url.replace(/\/\/[^/]*@/, '//'),
  file: () => null,
  isYetToBeMade: () => false,
  remove() {},
  whyUnusable: async () => null,
  access: accessOf,
  async open(config, { warnings: { observe, only }, retention }) {
    const { prefix, deadlineMs } = config
    const { openRedisStore } = await import('../../store/redis/redis-store.ts')
    const kept = retention === undefined ? {} : { retention }
    return openRedisStore({ ...accessOf(config), prefix, deadlineMs, ...kept, observe, onChecked: only })
  },
  async tried(config) {
    const { prefix, deadlineMs } = config
    try {
      const access = accessOf(config)
      const { inspectRedis } = await import('../../store/redis/inspect.ts')
      return redisTried(await inspectRedis({ ...access, prefix, deadlineMs }))
    } catch (error) {
      if (!(error instanceof StoreError)) return [failed(error)]
      return [failed(new SetupError(PATH, withCure(error.message), error))]
    }
  },
  async openCopyable({ location: { url }, prefix }, _exists, observe) {
    const { openRedisCopyable } = await import('../../store/redis/copy.ts')
    return openRedisCopyable({ url, prefix }, observe)
  },
}

function accessOf({ location: { url }, username, password, tls, sentinel }: ConfigOf<Redis>): RedisAccess {
  return {
    url,
    ...(username !== null && { username }),
    ...(password !== null && { password }),
    ...(tls !== null && { tls: readClientTls(tls, ['store_options', 'tls']) }),
    ...(sentinel !== null && { sentinel: sentinelAccess(sentinel, tls) }),
  }
}

function sentinelAccess(
  { username, password, tls }: NonNullable<StoreConfig['sentinel']>,
  ofRedis: StoreConfig['tls'],
): NonNullable<RedisAccess['sentinel']> {
  return {
    ...(username !== null && { username }),
    ...(password !== null && { password }),
    ...(tls !== null && { tls: tls === false ? null : sentinelTls(tls, ofRedis) }),
  }
}

/** @param tls `true` for TLS with the files of Redis, if it has any */
function sentinelTls(tls: true | ClientTls, ofRedis: ClientTls | null): ClientCredentials {
  if (tls !== true) return readClientTls(tls, ['store_options', 'sentinel', 'tls'])
  return ofRedis === null ? {} : readClientTls(ofRedis, ['store_options', 'tls'])
}

const PATH = ['store']
/** The difference of the clocks above which the gateway warns, in milliseconds. */
const APART_MS = 5000
/** With these a gateway would count wrongly or not at all. */
const HARMFUL: ReadonlySet<StoreWarning> = new Set(['old_version', 'eviction', 'copy_unended'])

/** A message without a cure is about the way to the server. */
function withCure(message: string): string {
  if (message.includes('Cure: ')) return message
  const cure = message.includes('did not answer in time')
    ? 'if it is there it is silent: look at its machine (docs/runbook.md, TollgateStoreDegraded), or correct host and port under store'
    : 'correct host and port under store, and let this machine reach them. Where the URL begins with rediss, that port must speak TLS'
  return `${message}. Cure: ${cure}`
}

function redisTried({ version, evictionPolicy, warnings, clockAheadMs }: Inspected): Tried[] {
  const tried = [...warnings].map(
    ([warning, message]): Tried => ({ path: PATH, result: HARMFUL.has(warning) ? 'failed' : 'warning', message }),
  )
  const apart = Math.round(clockAheadMs)
  if (Math.abs(clockAheadMs) > APART_MS) {
    const message = `its clock is ${apart} ms ahead of that of this machine: set both by NTP, or JWTs and windows end at wrong times`
    tried.push({ path: PATH, result: 'failed', message })
  }
  if (tried.some(({ result }) => result === 'failed')) return tried
  const facts = [
    ...(version === null ? [] : [`Redis ${version}`]),
    'lets us in, runs the script of charges and takes writes',
    ...(evictionPolicy === null ? [] : [`maxmemory-policy ${evictionPolicy}`]),
    `clock ${apart} ms from ours`,
  ]
  return [{ path: PATH, result: 'good', message: facts.join(', ') }, ...tried]
}
