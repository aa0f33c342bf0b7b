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

/**
 * For how many milliseconds after the beginning of a failed fetch requests use the present keys without waiting for the next fetch, because
 * that fetch may take 5 seconds to fail.
 */
const KNOWN_DOWN = 60_000
/**
 * How many requests may wait for one fetch; others are refused at once. Waiting requests are not verified yet, so they
 * must not take all places from requests that need no new key.
 */
const MAX_WAITING = 100
/** How many may wait if there are no keys. Nearly all requests are honest then, because the gateway starts under load. */
const MAX_WAITING_WITHOUT_KEYS = 500
/** How long keys are used after the time at which they should have been fetched again. */
const STALE_IF_ERROR = KEEP_KEY_SET_MS

/** This is no failure, because an issuer may withdraw all its keys. But none of its users is accepted from then on. */
const NO_KEY =
  'the set has no key that can be used, so every JWT of this issuer gets 401: publish one at the address under jwks'

/** How many kids of withdrawn keys are remembered. Real sets have 1 to 10. */
const MOST_RETIRED = 100

const UNKNOWN: KeyResponse = { is: 'unknown' }

interface Held {
  readonly keys: KeySet
  /** Milliseconds since the epoch, like `freshUntil`. If the clock shows an earlier time, it was set back, and the keys are due at once. */
  readonly since: number
  readonly freshUntil: number
}

export interface KeysByUrl {
  readonly issuer: string
  readonly url: URL
  /** Where this process keeps what it has fetched, and reads what others have fetched. */
  readonly kept: KeySetStore
  readonly observe: Observer
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** The name under which gateways keep the key set of an issuer and address. It hides the address, which may be secret. */
export function keySetId(issuer: string, { href }: URL): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, href]))
    .digest('base64url')
}

/**
 * Fetches the keys of an issuer from a URL. Nobody waits here for the first fetch, so a gateway can start while its identity
 * provider is down. Until a fetch succeeds, it uses keys that another process has fetched within a day.
 */
export function keysFromUrl(of: KeysByUrl): KeySource {
  const keys = new FetchedKeySet(of)
  void keys.prepare()
  return keys
}

class FetchedKeySet implements KeySource {
  readonly #of: KeysByUrl
  readonly #pace: ReturnType<typeof createFetchPace>
  readonly #closed = new AbortController()
  #held: Held | null = null
  #lastStart = Number.NEGATIVE_INFINITY
  /** Whether the issuer may have newer keys, because the last fetch failed, or the keys come from another process. */
  #mayBeOld = false
  #hasFailed = false
  #readOnce = false
  /** A fetched set that the store does not have yet, for example because it is not connected yet at the start. */
  #unkept: { readonly text: string; readonly sentAt: number } | null = null
  #pending: Promise<void> | null = null
  #waiting = 0
  /** How many fetches have ended. */
  #fetches = 0
  #retired: ReadonlySet<string> = new Set()

  constructor(of: KeysByUrl) {
    this.#of = of
    this.#pace = createFetchPace(() => ({ hasKeys: this.#held !== null, hasFailed: this.#hasFailed }), of.now)
  }

  /** Without the parts that may be secret: user, password and query. */
  get #address(): string {
    return `${this.#of.url.origin}${this.#of.url.pathname}`
  }

  async find(alg: string, kid: string | undefined): Promise<KeyResponse> {
    const before = this.#fetches
    if (this.#held !== null && this.#of.now() < this.#held.since)
      this.#held = { ...this.#held, since: this.#of.now(), freshUntil: this.#of.now() }
    if (this.#held !== null && this.#of.now() >= this.#held.freshUntil + STALE_IF_ERROR) this.#held = null
    if (this.#held === null || this.#of.now() >= this.#held.freshUntil) {
      const mayWait = this.#held === null || !this.#isKnownDown()
      const fetched = this.#refresh()
      // Keys that are due still serve if too many requests wait already, as they do if the fetch fails.
      if (mayWait && !(await this.#waited(fetched)) && this.#held === null) return this.#unavailable()
    }
    const known = this.#lookUp(alg, kid)
    return known.is === 'unknown' ? this.#findNew(alg, kid, [], before) : known
  }

  /**
   * Without a kid, a new key may have replaced another one unnoticed. Under the same kid this should not happen, and anybody can put
   * a wrong signature under a known kid. So if nothing can be found out now, the result for a known kid is "no".
   */
  async findOther(alg: string, kid: string | undefined, tried: readonly VerifyingKey[]): Promise<KeyResponse> {
    const found = await this.#findNew(alg, kid, tried, this.#fetches)
    return found.is === 'unavailable' && kid !== undefined ? UNKNOWN : found
  }

  /**
   * A missing key may have been published since the last fetch. It is unknown if no later fetch brings it.
   * @param before how many fetches had ended when the token came
   */
  async #findNew(
    alg: string,
    kid: string | undefined,
    tried: readonly VerifyingKey[],
    before: number,
  ): Promise<KeyResponse> {
    if (this.#fetches === before) {
      const mayAsk = this.#pending !== null || this.#pace.waitMs() === 0
      if (!mayAsk && kid !== undefined && this.#retired.has(kid)) return UNKNOWN
      if (!mayAsk || !(await this.#waited(this.#refresh()))) return this.#unavailable()
    }
    const response = this.#lookUp(alg, kid, tried)
    return response.is === 'unknown' && this.#mayBeOld ? this.#unavailable() : response
  }

  /** @returns false at once if too many requests wait already */
  async #waited(fetched: Promise<void>): Promise<boolean> {
    if (this.#pending !== null && this.#waiting >= (this.#held === null ? MAX_WAITING_WITHOUT_KEYS : MAX_WAITING))
      return false
    this.#waiting++
    await fetched
    this.#waiting--
    return true
  }

  #lookUp(alg: string, kid: string | undefined, tried: readonly VerifyingKey[] = []): KeyResponse {
    return this.#held === null ? this.#unavailable() : findKeys(this.#held.keys, alg, kid, tried)
  }

  #isKnownDown(): boolean {
    const since = this.#of.now() - this.#lastStart
    return this.#mayBeOld && since >= 0 && since < KNOWN_DOWN
  }

  #unavailable(): KeyResponse {
    return { is: 'unavailable', retryAfter: Math.max(1, Math.ceil(this.#pace.waitMs() / 1000)) }
  }

  /** Fetches the keys, unless that was done a moment ago. All who ask meanwhile share one fetch. */
  async #refresh(): Promise<void> {
    if (this.#pending !== null) return this.#pending
    if (this.#pace.waitMs() > 0) return
    this.#pace.started()
    this.#lastStart = this.#of.now()
    this.#pending = this.#load().finally(() => {
      this.#pending = null
      this.#fetches++
    })
    return this.#pending
  }

  async #load(): Promise<void> {
    try {
      const { json, freshMs, ageMs } = await fetchJson(this.#of.url, this.#closed.signal)
      const { keys, count, refused } = await readKeySet(json)
      this.#hasFailed = false
      this.#hold({ keys, since: this.#of.now(), freshUntil: this.#of.now() + freshMs }, false)
      this.#unkept = { text: JSON.stringify(json), sentAt: this.#of.now() - ageMs }
      void this.#keep()
      this.#of.observe({ type: 'jwks_fetched', issuer: this.#of.issuer, keys: count })
      const faults = [...(count === 0 ? [NO_KEY] : []), ...refused]
      if (faults.length > 0)
        this.#of.observe({
          type: 'jwks_keys_refused',
          issuer: this.#of.issuer,
          message: faults.join('; ').slice(0, 1000),
        })
    } catch (error) {
      this.#mayBeOld = true
      this.#hasFailed = true
      if (!this.#closed.signal.aborted)
        this.#of.observe({ type: 'jwks_failed', issuer: this.#of.issuer, message: `${this.#address}: ${why(error)}` })
      await this.#recall()
    }
  }

  #hold(next: Held, isOfOthers: boolean): void {
    if (this.#held !== null) this.#retired = retiredBy(this.#retired, this.#held.keys, next.keys)
    this.#held = next
    this.#mayBeOld = isOfOthers
    this.#readOnce = true
  }

  /** Keeps even a set without keys, so that no gateway begins with withdrawn keys. A set that is too long is kept as one without keys. */
  async #keep(): Promise<void> {
    const fetched = this.#unkept
    if (fetched === null) return
    const { text, sentAt } = fetched
    const ageMs = Math.max(0, this.#of.now() - sentAt)
    if (ageMs >= KEEP_KEY_SET_MS) return
    await this.#of.kept
      .keepKeySet(keySetId(this.#of.issuer, this.#of.url), text.length > MOST_KEY_SET ? NO_KEYS_KEPT : text, ageMs)
      .then(
        () => {
          if (this.#unkept === fetched) this.#unkept = null
        },
        () => {}, // The set goes to the store again when the store is back (`prepare`).
      )
  }

  /** Keys from another process are due at once, so that a fetch of our own decides. */
  async #recall(): Promise<void> {
    if (this.#held !== null || this.#closed.signal.aborted) return
    const found = await readKept(this.#of.kept, keySetId(this.#of.issuer, this.#of.url))
    if (found === null || this.#held !== null) return
    const since = this.#of.now() - found.ageMs
    this.#hold({ keys: found.keys, since, freshUntil: since }, true)
    this.#of.observe({ type: 'jwks_recalled', issuer: this.#of.issuer, keys: found.count, ageMs: found.ageMs })
  }

  async prepare(): Promise<void> {
    await (this.#held === null ? Promise.all([this.#refresh(), this.#recall()]) : this.#keep())
  }

  hasKeys(): boolean {
    return this.#held !== null && this.#held.keys.size > 0
  }

  wasRead(): boolean {
    return this.#readOnce
  }

  close(): void {
    this.#closed.abort()
  }
}

/**
 * The kids of withdrawn keys. Tokens with such a kid are refused at once, even if the set cannot be fetched now. So clients sign in anew
 * after all keys were rotated.
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

/** `null` also if the store is out, or if its value is no key set. */
async function readKept(kept: KeySetStore, id: string): Promise<(ReadKeySet & { readonly ageMs: number }) | null> {
  try {
    const found = await kept.readKeySet(id)
    if (found === null || found.ageMs >= KEEP_KEY_SET_MS) return null
    return { ...(await readKeySet(JSON.parse(found.text))), ageMs: found.ageMs }
  } catch {
    return null
  }
}
