import { repeat } from '../../lib/repeat.ts'
import type { Observer, StoreWarning } from '../../observe/observation.ts'
import { asksForNoPassword, type RedisClient } from './client.ts'
import type { Keys } from './keys.ts'
import { isForbidden } from './store-errors.ts'

/** How often to look at a server, in milliseconds. Faults may appear and be repaired while it runs. */
const AGAIN_MS = 5000

/** For how many servers it is remembered what they have evicted. */
const MOST_SERVERS = 100

export interface ServerCheckOptions {
  /** How long the store may be silent while a charge waits, in milliseconds. */
  readonly deadlineMs: number
  readonly observe: Observer
  /** Is called with all present warnings after each look. */
  readonly onChecked: (warnings: ReadonlySet<StoreWarning>) => void
  /** How often to look at a server, in milliseconds. Default 5,000. */
  readonly everyMs?: number
}

export interface ServerCheck {
  /** Looks at a server after a new connection, and then repeatedly. */
  look(): Promise<void>
  stop(): void
}

type Found = Map<StoreWarning, string>

interface Look {
  readonly found: Found
  /** The reply to INFO; `null` if our user may not ask. */
  readonly info: Info | null
}

/** A field of INFO by its name; empty if there is none. */
type Info = (field: string) => string

/** The warnings that only a login can show. Never rejects. */
export async function foundAtLogin(redis: RedisClient): Promise<Found> {
  return (await asksForNoPassword(redis)) ? new Map([['no_password', NO_PASSWORD]]) : new Map()
}

/** Finds what an operator must know before a server is trusted with a quota. Each look reports what it finds. */
export function createServerCheck(
  redis: RedisClient,
  keys: Keys,
  { deadlineMs, observe, onChecked, everyMs = AGAIN_MS }: ServerCheckOptions,
): ServerCheck {
  let stopLooking = (): void => {}
  /** Counts looks. An earlier look, or one that was stopped, reports nothing more. */
  let looks = 0
  /** The keys that each server had evicted at the last look, by `run_id`, because any node of a cluster may respond. */
  const evicted = new Map<string, number>()

  async function look(): Promise<void> {
    stop()
    const own = looks
    try {
      // Asked once, because a password that was changed meanwhile would be refused at each look.
      const ofLogin = await foundAtLogin(redis)
      const { found, info } = await lookAt(redis, keys, deadlineMs, ofLogin)
      if (own !== looks) return
      report(found, info)
      // Each refused question leaves an entry in the log of Redis, so it is not repeated.
      if (!found.has('no_rights')) goOn(ofLogin)
    } catch {
      // The next call reports what is wrong. A failed check is no reason to refuse requests.
      if (own === looks) stopLooking = repeat(() => void look(), everyMs)
    }
  }

  function goOn(ofLogin: Found): void {
    stopLooking = repeat(() => void lookAgain(ofLogin), everyMs)
  }

  function stop(): void {
    stopLooking()
    looks++
  }

  async function lookAgain(ofLogin: Found): Promise<void> {
    const own = looks
    const seen = await lookAt(redis, keys, deadlineMs, ofLogin).catch(() => null)
    if (seen === null || own !== looks) return
    report(seen.found, seen.info)
    if (seen.found.has('no_rights')) stop()
  }

  function report(found: Found, info: Info | null): void {
    if (info !== null) compareEvicted(info('run_id'), Number(info('evicted_keys')))
    for (const [warning, message] of found) observe({ type: 'store_warning', warning, message })
    onChecked(new Set(found.keys()))
  }

  /** A rise proves that keys were evicted, whatever the policy is now, because it may have been different for a moment. */
  function compareEvicted(server: string, count: number): void {
    const before = evicted.get(server) ?? count
    evicted.delete(server)
    evicted.set(server, count)
    if (evicted.size > MOST_SERVERS) evicted.delete(evicted.keys().next().value ?? '')
    if (count > before) observe({ type: 'keys_evicted', keys: count - before })
  }

  return { look, stop }
}

const NO_PASSWORD =
  'Redis asks for no password, so whoever reaches it may change every counter: set requirepass of Redis to the password of the URL under store, or take that out of the URL'

const COPYING = 'a copy into this store has not ended, windows may be missing: run "tollgate store copy" again'

const NO_INFO =
  'the version of Redis and its maxmemory-policy cannot be looked at: give the user of the URL under store the right to INFO (ACL SETUSER NAME +info)'

const farAway = (roundTrip: number, deadlineMs: number): string =>
  `Redis takes ${Math.round(roundTrip)} ms to respond, more than half of store_options.deadline (${deadlineMs} ms): a charge takes up to two of its responses; bring Redis closer to the gateway`

const NOTHING_ON_DISK =
  'Redis keeps nothing on disk (no append-only file, no save points): when it starts anew, all charges, access keys and changes at run time are gone; set its appendonly to yes'

/** @param before warnings that are known already @throws any error of Redis */
export async function lookAt(redis: RedisClient, keys: Keys, deadlineMs: number, before: Found): Promise<Look> {
  const found: Found = new Map(before)
  const asked = performance.now()
  if ((await redis.get(keys.copying)) !== null) found.set('copy_unended', COPYING)
  const responded = performance.now()
  const field = await infoOf(redis)
  // The shorter of two round trips, because this process may have been held up during the other.
  const roundTrip = Math.min(responded - asked, performance.now() - responded)
  if (roundTrip > deadlineMs / 2) found.set('far', farAway(roundTrip, deadlineMs))
  if (field === null) return { found: found.set('no_rights', NO_INFO), info: null }
  const [major = 0, minor = 0] = field('redis_version').split('.').map(Number)
  if (major < 6 || (major === 6 && minor < 2)) {
    found.set('old_version', `Redis ${major}.${minor} is too old: 6.2 or newer is needed`)
  }
  const policy = field('maxmemory_policy')
  if (policy !== '' && policy !== 'noeviction' && field('maxmemory') !== '0') {
    found.set(
      'eviction',
      `maxmemory-policy is ${policy}: Redis may evict counters and forget charges; set it to noeviction`,
    )
  }
  if (field('aof_enabled') === '0' && (await hasNoSavePoints(redis))) found.set('no_persistence', NOTHING_ON_DISK)
  return { found, info: field }
}

/** Unlike a refused CONFIG, this question leaves no entry in ACL LOG. Redis has it from 7.0 on. */
const MAY_ASK = "return redis.acl_check_cmd and redis.acl_check_cmd('config', 'get', 'save')"

/** `false` also if unknown, because most Redis users may not see the configuration, which contains passwords. */
async function hasNoSavePoints(redis: RedisClient): Promise<boolean> {
  if ((await redis.eval(MAY_ASK, 0)) !== 1) return false
  const [, save] = (await redis.config('GET', 'save')) as string[]
  return save === ''
}

/** The reply to INFO; `null` if our user may not ask. */
async function infoOf(redis: RedisClient): Promise<Info | null> {
  const text = await redis.info().catch((error: unknown) => {
    if (isForbidden(error)) return null
    throw error
  })
  if (text === null) return null
  return (field) => new RegExp(`^${field}:(.*)$`, 'm').exec(text)?.[1]?.trim() ?? ''
}
