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
  /** The issuer may have other keys than these: the last fetch failed, or they are those of another process. */
  #mayBeOld = false
  #hasFailed = false
  #readOnce = false
  /** What was fetched and the store does not have yet, as at the start, when it is hardly connected. */
  #unkept: { readonly text: string; readonly sentAt: number } | null = null
  #pending: Promise<void> | null = null
  #waiting = 0
  /** Fetches that have ended. */
  #fetches = 0
  #retired: ReadonlySet<string> = new Set()

  constructor(of: KeysByUrl) {
    this.#of = of
    this.#pace = createFetchPace(() => ({ hasKeys: this.#held !== null, hasFailed: this.#hasFailed }), of.now)
  }

  /** Without what may be secret: user, password and query. */
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
      // Keys that are due still serve, as they do when a fetch fails: only if there are none must everybody wait.
      if (mayWait && !(await this.#waited(fetched)) && this.#held === null) return this.#unavailable()
    }
    const known = this.#lookUp(alg, kid)
    return known.is === 'unknown' ? this.#findNew(alg, kid, [], before) : known
  }

  /**
   * Without a kid a key may have taken the place of another one. Under a kid none should, and anybody can put a bad signature under a
   * known kid: what cannot be found out then is a "no".
   */
  async findOther(alg: string, kid: string | undefined, tried: readonly VerifyingKey[]): Promise<KeyResponse> {
    const found = await this.#findNew(alg, kid, tried, this.#fetches)
    return found.is === 'unavailable' && kid !== undefined ? UNKNOWN : found
  }

  /**
   * A key that is not there may have come since the last fetch: it is unknown if no fetch since then brings it.
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

  /** @returns false, at once, where too many wait already */
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

  /** Fetches unless that was done just now; all who ask meanwhile share one fetch. */
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

  /** Also one without any key, and none of one that is too long: nobody is to begin with those that were taken out of use. */
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
        () => {}, // tried again when the store is there (`prepare`)
      )
  }

  /** What another process has fetched is due at once: a fetch of our own has the last word. */
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
