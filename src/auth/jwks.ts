import type { Observer } from '../observe/observation.ts'
import { fetchJson, why } from './jwks-fetch.ts'
import { findKeys, type KeyResponse, type KeySet, type KeySource, readKeySet, type VerifyingKey } from './key-set.ts'

/** Least time between two fetches while there are keys: what a flood of unknown kids can cause, and how soon a rotation is seen. */
const COOL_DOWN = 30_000
/** The same while there are none and every credential of the issuer waits. */
const RETRY_WITHOUT_KEYS = 2000
/** While fetches fail, none further apart than this, nobody waits for another where there are keys: it may take 5 seconds to fail. */
const KNOWN_DOWN = 2 * COOL_DOWN
/**
 * Requests that wait for one fetch; more are refused at once. They are not verified yet, and all of them
 * together must not take the places of those that need no key of this issuer.
 */
const MAX_WAITING = 100
/** The same while there are no keys, when nearly all of them are honest: a gateway that starts under load. */
const MAX_WAITING_WITHOUT_KEYS = 500
/** How long keys that ought to be fetched again are used while that fails. */
const STALE_IF_ERROR = 24 * 60 * 60_000

/** It is no failure: who takes all keys out of use is obeyed. But nobody of this issuer comes in from then on. */
const NO_KEY =
  'the set has no key that can be used, so every JWT of this issuer gets 401: publish one at the address under jwks'

interface Held {
  readonly keys: KeySet
  /** Milliseconds since the epoch, as `freshUntil`, which before it (the clock was ahead then) says nothing. */
  readonly since: number
  readonly freshUntil: number
}

/**
 * The keys of an issuer by URL. The first fetch starts at once and nobody waits for it here: a gateway starts while its
 * identity provider is down.
 */
export function keysFromUrl(issuer: string, url: URL, observe: Observer, now: () => number): KeySource {
  const closed = new AbortController()
  // Without what may be secret: user, password and query.
  const address = `${url.origin}${url.pathname}`
  let held: Held | null = null
  let lastStart = Number.NEGATIVE_INFINITY
  let lastFailed = false
  let pending: Promise<void> | null = null
  let waiting = 0

  async function find(alg: string, kid: string | undefined): Promise<KeyResponse> {
    if (held !== null && now() < held.since) held = { ...held, since: now(), freshUntil: now() }
    if (held !== null && now() >= held.freshUntil + STALE_IF_ERROR) held = null
    if (held === null || now() >= held.freshUntil) {
      const mayWait = held === null || !isKnownDown()
      const fetched = refresh()
      // Keys that are due still serve, as they do when a fetch fails: only if there are none must everybody wait.
      if (mayWait && !(await waited(fetched)) && held === null) return unavailable()
    }
    if (lookUp(alg, kid).is === 'unknown' && !(await waited(refresh()))) return unavailable()
    const response = lookUp(alg, kid)
    // After a fetch that failed, an unknown key may be a new one.
    return response.is === 'unknown' && lastFailed ? unavailable() : response
  }

  /** Any token that is made up brings it about, so it is as rare as for an unknown kid, and what cannot be found out is a "no". */
  async function findOther(alg: string, kid: string | undefined, tried: readonly VerifyingKey[]): Promise<KeyResponse> {
    if (!(await waited(refresh()))) return { is: 'unknown' }
    return lookUp(alg, kid, tried)
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
    return lastFailed && since >= 0 && since < KNOWN_DOWN
  }

  function unavailable(): KeyResponse {
    const wait = Math.min(lastStart + pause() - now(), pause())
    return { is: 'unavailable', retryAfter: Math.max(1, Math.ceil(wait / 1000)) }
  }

  function pause(): number {
    return held === null ? RETRY_WITHOUT_KEYS : COOL_DOWN
  }

  /** Fetches unless that was done just now; all who ask meanwhile share one fetch. */
  async function refresh(): Promise<void> {
    if (pending !== null) return pending
    const since = now() - lastStart
    // A clock that was set back must not stop the fetching.
    if (since >= 0 && since < pause()) return
    lastStart = now()
    pending = load().finally(() => {
      pending = null
    })
    return pending
  }

  async function load(): Promise<void> {
    try {
      const { json, freshMs } = await fetchJson(url, closed.signal)
      const { keys, count, refused } = await readKeySet(json)
      held = { keys, since: now(), freshUntil: now() + freshMs }
      lastFailed = false
      observe({ type: 'jwks_fetched', issuer, keys: count })
      const faults = [...(count === 0 ? [NO_KEY] : []), ...refused]
      if (faults.length > 0) observe({ type: 'jwks_keys_refused', issuer, message: faults.join('; ').slice(0, 1000) })
    } catch (error) {
      lastFailed = true
      if (!closed.signal.aborted) observe({ type: 'jwks_failed', issuer, message: `${address}: ${why(error)}` })
    }
  }

  void refresh()
  return { find, findOther, hasKeys: () => held !== null && held.keys.size > 0, close: () => closed.abort() }
}
