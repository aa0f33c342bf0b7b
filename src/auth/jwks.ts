import { createHash } from 'node:crypto'
import { KEEP_KEY_SET_MS, type KeySetStore, MOST_KEY_SET } from '../control/kept-key-sets.ts'
import type { Observer } from '../observe/observation.ts'
import { createFetchPace } from './fetch-pace.ts'
import { fetchJson, why } from './jwks-fetch.ts'
import {
  findKeys,
  type KeyResponse,
  type KeySet,
  type KeySource,
  type ReadKeySet,
  readKeySet,
  type VerifyingKey,
} from './key-set.ts'

/** While fetches fail, none further apart than this, nobody waits for another where there are keys: it may take 5 seconds to fail. */
const KNOWN_DOWN = 60_000
/**
 * Requests that wait for one fetch; more are refused at once. They are not verified yet, and all of them
 * together must not take the places of those that need no key of this issuer.
 */
const MAX_WAITING = 100
/** The same while there are no keys, when nearly all of them are honest: a gateway that starts under load. */
const MAX_WAITING_WITHOUT_KEYS = 500
/** How long keys that ought to be fetched again are used while that fails. */
const STALE_IF_ERROR = KEEP_KEY_SET_MS

/** It is no failure: who takes all keys out of use is obeyed. But nobody of this issuer comes in from then on. */
const NO_KEY =
  'the set has no key that can be used, so every JWT of this issuer gets 401: publish one at the address under jwks'

/** Kids of keys that were taken out of use which are remembered; real sets have 1 to 10. */
const MOST_RETIRED = 100

const UNKNOWN: KeyResponse = { is: 'unknown' }

interface Held {
  readonly keys: KeySet
  /** Milliseconds since the epoch, as `freshUntil`, which before it (the clock was ahead then) says nothing. */
  readonly since: number
  readonly freshUntil: number
}

export interface KeysByUrl {
  readonly issuer: string
  readonly url: URL
  /** What this process has fetched is kept there, and what others have is read there. */
  readonly kept: KeySetStore
  readonly observe: Observer
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** The name under which all gateways of a store keep the key set that an issuer has at an address, which may hold a secret. */
export function keySetId(issuer: string, { href }: URL): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, href]))
    .digest('base64url')
}

/**
 * The keys of an issuer by URL. The first fetch starts at once and nobody waits for it here: a gateway starts while its
 * identity provider is down. As long as it has fetched none, it goes by those that another process has fetched within a day.
 */
export function keysFromUrl({ issuer, url, kept, observe, now }: KeysByUrl): KeySource {
  const closed = new AbortController()
  // Without what may be secret: user, password and query.
  const address = `${url.origin}${url.pathname}`
  let held: Held | null = null
  let lastStart = Number.NEGATIVE_INFINITY
  /** The issuer may have other keys than these: the last fetch failed, or they are those of another process. */
  let mayBeOld = false
  let hasFailed = false
  let readOnce = false
  /** What was fetched and the store does not have yet, as at the start, when it is hardly connected. */
  let unkept: string | null = null
  let pending: Promise<void> | null = null
  let waiting = 0
  /** That have ended. */
  let fetches = 0
  let retired: ReadonlySet<string> = new Set()
  const pace = createFetchPace(() => ({ hasKeys: held !== null, hasFailed }), now)

  async function find(alg: string, kid: string | undefined): Promise<KeyResponse> {
    const before = fetches
    if (held !== null && now() < held.since) held = { ...held, since: now(), freshUntil: now() }
    if (held !== null && now() >= held.freshUntil + STALE_IF_ERROR) held = null
    if (held === null || now() >= held.freshUntil) {
      const mayWait = held === null || !isKnownDown()
      const fetched = refresh()
      // Keys that are due still serve, as they do when a fetch fails: only if there are none must everybody wait.
      if (mayWait && !(await waited(fetched)) && held === null) return unavailable()
    }
    const known = lookUp(alg, kid)
    return known.is === 'unknown' ? findNew(alg, kid, [], before) : known
  }

  /**
   * Without a kid a key may have taken the place of another one. Under a kid none should, and anybody can put a bad signature under a
   * known kid: what cannot be found out then is a "no".
   */
  async function findOther(alg: string, kid: string | undefined, tried: readonly VerifyingKey[]): Promise<KeyResponse> {
    const found = await findNew(alg, kid, tried, fetches)
    return found.is === 'unavailable' && kid !== undefined ? UNKNOWN : found
  }

  /**
   * A key that is not there may have come since the last fetch: it is unknown if no fetch since then brings it.
   * @param before how many fetches had ended when the token came
   */
  async function findNew(
    alg: string,
    kid: string | undefined,
    tried: readonly VerifyingKey[],
    before: number,
  ): Promise<KeyResponse> {
    if (fetches === before) {
      const mayAsk = pending !== null || pace.waitMs() === 0
      if (!mayAsk && kid !== undefined && retired.has(kid)) return UNKNOWN
      if (!mayAsk || !(await waited(refresh()))) return unavailable()
    }
    const response = lookUp(alg, kid, tried)
    return response.is === 'unknown' && mayBeOld ? unavailable() : response
  }

  /** @returns false, at once, where too many wait already */
  async function waited(fetched: Promise<void>): Promise<boolean> {
    if (pending !== null && waiting >= (held === null ? MAX_WAITING_WITHOUT_KEYS : MAX_WAITING)) return false
    waiting++
    await fetched
    waiting--
    return true
  }

  function lookUp(alg: string, kid: string | undefined, tried: readonly VerifyingKey[] = []): KeyResponse {
    return held === null ? unavailable() : findKeys(held.keys, alg, kid, tried)
  }

  function isKnownDown(): boolean {
    const since = now() - lastStart
    return mayBeOld && since >= 0 && since < KNOWN_DOWN
  }

  function unavailable(): KeyResponse {
    return { is: 'unavailable', retryAfter: Math.max(1, Math.ceil(pace.waitMs() / 1000)) }
  }

  /** Fetches unless that was done just now; all who ask meanwhile share one fetch. */
  async function refresh(): Promise<void> {
    if (pending !== null) return pending
    if (pace.waitMs() > 0) return
    pace.started()
    lastStart = now()
    pending = load().finally(() => {
      pending = null
      fetches++
    })
    return pending
  }

  async function load(): Promise<void> {
    try {
      const { json, freshMs } = await fetchJson(url, closed.signal)
      const { keys, count, refused } = await readKeySet(json)
      hasFailed = false
      hold({ keys, since: now(), freshUntil: now() + freshMs }, false)
      unkept = JSON.stringify(json)
      void keep()
      observe({ type: 'jwks_fetched', issuer, keys: count })
      const faults = [...(count === 0 ? [NO_KEY] : []), ...refused]
      if (faults.length > 0) observe({ type: 'jwks_keys_refused', issuer, message: faults.join('; ').slice(0, 1000) })
    } catch (error) {
      mayBeOld = true
      hasFailed = true
      if (!closed.signal.aborted) observe({ type: 'jwks_failed', issuer, message: `${address}: ${why(error)}` })
      await recall()
    }
  }

  function hold(next: Held, isOfOthers: boolean): void {
    if (held !== null) retired = retiredBy(retired, held.keys, next.keys)
    held = next
    mayBeOld = isOfOthers
    readOnce = true
  }

  /** Also one without any key, and none of one that is too long: nobody is to begin with those that were taken out of use. */
  async function keep(): Promise<void> {
    const text = unkept
    if (text === null) return
    await kept.keepKeySet(keySetId(issuer, url), text.length > MOST_KEY_SET ? NO_KEYS_KEPT : text).then(
      () => {
        if (unkept === text) unkept = null
      },
      () => {}, // tried again when the store is there (`prepare`)
    )
  }

  /** What another process has fetched is due at once: a fetch of our own has the last word. */
  async function recall(): Promise<void> {
    if (held !== null || closed.signal.aborted) return
    const found = await readKept(kept, keySetId(issuer, url))
    if (found === null || held !== null) return
    const since = now() - found.ageMs
    hold({ keys: found.keys, since, freshUntil: since }, true)
    observe({ type: 'jwks_recalled', issuer, keys: found.count, ageMs: found.ageMs })
  }

  async function prepare(): Promise<void> {
    await (held === null ? Promise.all([refresh(), recall()]) : keep())
  }

  void prepare()
  const hasKeys = (): boolean => held !== null && held.keys.size > 0
  return { find, findOther, hasKeys, wasRead: () => readOnce, prepare, close: () => closed.abort() }
}

/**
 * The kids of keys that were in use and are no more: their tokens are told so at once, also where the set may not be asked for now. After a
 * rotation of all keys, clients sign in anew by that.
 */
function retiredBy(before: ReadonlySet<string>, old: KeySet, next: KeySet): ReadonlySet<string> {
  const [gone, there] = [kidsOf(old), kidsOf(next)]
  const all = [...new Set([...before, ...gone])].filter((kid) => !there.has(kid))
  return new Set(all.slice(-MOST_RETIRED))
}

function kidsOf(keys: KeySet): ReadonlySet<string> {
  return new Set([...keys.values()].flat().flatMap(({ kid }) => kid ?? []))
}

const NO_KEYS_KEPT = '{"keys":[]}'

/** `null` too where the store is out, or what is kept there is no key set. */
async function readKept(kept: KeySetStore, id: string): Promise<(ReadKeySet & { readonly ageMs: number }) | null> {
  try {
    const found = await kept.readKeySet(id)
    if (found === null || found.ageMs >= KEEP_KEY_SET_MS) return null
    return { ...(await readKeySet(JSON.parse(found.text))), ageMs: found.ageMs }
  } catch {
    return null
  }
}
