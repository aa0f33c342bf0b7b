import { messageOf } from '../errors.ts'
import { openPoster } from '../lib/http-client.ts'
import type { Observer } from '../observe/observation.ts'
import type { Payload } from './claim-facts.ts'
import { parseObject } from './jwt-encoding.ts'
import { type Asker, createProviderPlaces, PLACES } from './provider-places.ts'

/** The endpoint of one provider: how it is asked, and how long nobody asks it while it is out. */

export interface ProviderOptions {
  /** https, or http to this machine. */
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
}

export interface Unanswered {
  /** For the log. */
  readonly problem: string
  readonly wasAsked: boolean
}

export interface Provider {
  /** Never rejects. */
  ask(credential: string, asker: Asker): Promise<Payload | Unanswered>
  /** Whoever waits already is still asked about. */
  close(): void
}

/** For the whole of one question, without the wait for a place. */
const DEADLINE_MS = 2000
const MAX_BYTES = 64 * 1024

/** After so many failures one after the other the provider is out, unless it has just answered. */
const FAILURES = 3
/** As long as others get responses, a few credentials on which it fails do not make it out for everybody. */
const JUST_MS = 1000
/** While it is out it is asked so often, by one request; all others need not wait to learn that it still is. */
const PAUSE_MS = 1000

class Failure extends Error {
  readonly reason: 'status' | 'malformed'
  readonly isOfCredential: boolean

  constructor(reason: Failure['reason'], message: string, isOfCredential = false) {
    super(message)
    this.reason = reason
    this.isOfCredential = isOfCredential
  }
}

export function openProvider({ url, clientId, clientSecret }: ProviderOptions, observe: Observer): Provider {
  const address = new URL(url)
  /** Without a query, which may hold a secret. */
  const provider = `${address.origin}${address.pathname}`
  const poster = openPoster({
    url: address,
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      authorization: basic(clientId, clientSecret),
    },
    deadlineMs: DEADLINE_MS,
    maxBytes: MAX_BYTES,
    connections: PLACES,
  })
  const availability = createAvailability(provider, observe)
  const places = createProviderPlaces()
  /** Credentials that are asked about or wait. */
  let underWay = 0
  let isClosed = false

  async function ask(credential: string, asker: Asker): Promise<Payload | Unanswered> {
    if (!availability.mayAsk()) return OUT
    underWay++
    try {
      if (await places.take(asker)) return await askInPlace(credential, asker)
      return failed('busy', 'too many credentials wait for the provider', false)
    } finally {
      underWay--
      if (isClosed) closeWhenIdle()
    }
  }

  /** The provider may have gone out meanwhile. */
  async function askInPlace(credential: string, asker: Asker): Promise<Payload | Unanswered> {
    try {
      return availability.mayAsk() ? await question(credential) : OUT
    } finally {
      places.give(asker)
    }
  }

  async function question(credential: string): Promise<Payload | Unanswered> {
    availability.asked()
    const startedAt = performance.now()
    try {
      const payload = await post(credential)
      observe({ type: 'introspected', provider, durationMs: performance.now() - startedAt })
      availability.succeeded()
      return payload
    } catch (error) {
      const { reason, message, isOfCredential } = describe(error)
      if (isOfCredential) availability.succeeded()
      else availability.failed(message)
      return failed(reason, message, true)
    }
  }

  function failed(reason: string, problem: string, wasAsked: boolean): Unanswered {
    observe({ type: 'introspection_failed', provider, reason })
    return { problem, wasAsked }
  }

  async function post(credential: string): Promise<Payload> {
    const form = new URLSearchParams({ token: credential, token_type_hint: 'access_token' })
    const { status, text } = await poster.post(form.toString())
    if (status === 401 || status === 403) {
      throw new Failure(
        'status',
        `answered ${status}: it does not know client_id and client_secret, or does not let them ask`,
        isOfRequest(status),
      )
    }
    if (status !== 200) throw new Failure('status', `answered ${status}`, isOfRequest(status))
    const bytes = Buffer.from(text)
    const object = parseObject(bytes)
    if (object === null)
      throw new Failure('malformed', 'answered what is no JSON object: name the introspection endpoint')
    return { object, bytes }
  }

  function closeWhenIdle(): void {
    if (underWay === 0) void poster.close().catch(() => {})
  }

  function close(): void {
    isClosed = true
    closeWhenIdle()
  }

  return { ask, close }
}

const OUT: Unanswered = { problem: 'the provider is out', wasAsked: false }

/**
 * A firewall before it answers 403 to a credential that looks like a path, a server 413 to a long one. A 401 is about our own
 * name and secret (RFC 7662, section 2.3), a 429 about how much all ask.
 */
function isOfRequest(status: number): boolean {
  return status >= 400 && status <= 499 && status !== 401 && status !== 429
}

/** RFC 6749, section 2.3.1: both are form-encoded before. */
function basic(id: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`
}

function describe(error: unknown): Pick<Failure, 'message' | 'isOfCredential'> & { readonly reason: string } {
  if (error instanceof Failure) return error
  if (error instanceof Error && error.name === 'TimeoutError') {
    return { reason: 'timeout', message: `no answer within ${DEADLINE_MS / 1000} s`, isOfCredential: false }
  }
  return { reason: 'connection', message: messageOf(error) || 'no connection', isOfCredential: false }
}

/**
 * `up`: asked by everybody. `out`: the last questions failed; one is asked in each pause, and the first that succeeds
 * ends it.
 */
function createAvailability(provider: string, observe: Observer) {
  let failures = 0
  let answeredAt = Number.NEGATIVE_INFINITY
  /** Monotonic milliseconds; `null` while it is up. */
  let out: { readonly since: number; askedAt: number } | null = null

  function mayAsk(): boolean {
    return out === null || performance.now() - out.askedAt >= PAUSE_MS
  }

  function asked(): void {
    if (out !== null) out.askedAt = performance.now()
  }

  function failed(message: string): void {
    failures++
    const since = performance.now()
    if (out !== null || failures < FAILURES || since - answeredAt < JUST_MS) return
    out = { since, askedAt: since }
    observe({ type: 'introspection_out', provider, message })
  }

  function succeeded(): void {
    failures = 0
    answeredAt = performance.now()
    if (out === null) return
    observe({ type: 'introspection_recovered', provider, downMs: performance.now() - out.since })
    out = null
  }

  return { mayAsk, asked, failed, succeeded }
}
