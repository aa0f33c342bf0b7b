import { messageOf } from '../errors.ts'
import { openPoster } from '../lib/http-client.ts'
import type { Observer } from '../observe/observation.ts'
import type { Payload } from './claim-facts.ts'
import { parseObject } from './jwt-encoding.ts'
import { type Asker, createProviderPlaces, PLACES } from './provider-places.ts'

/** The endpoint of one provider: how to ask it, and how long not to ask it while it is out. */

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
  /** The URL of the provider without its query, which may contain a secret. */
  readonly address: string
  /** Whether it has responded once with anything but a failure. */
  hasSucceeded(): boolean
  /** Asks about a made-up credential, until the provider has responded once with anything but a failure. */
  prepare(): Promise<void>
  /** Questions that already wait are still asked. */
  close(): void
}

/** The time for one question, without the wait for a place. */
const DEADLINE_MS = 2000
const MAX_BYTES = 64 * 1024

/** After this many consecutive failures the provider is out, unless it responded a moment ago. */
const FAILURES = 3
/** How recent that response must be. So a few credentials that make the provider fail do not put it out for everybody. */
const JUST_MS = 1000
/**
 * While the provider is out, each address, or IPv6 /48, may ask once in this time. So credentials that make it fail do not keep it out
 * for others, and all others are refused at once.
 */
const PAUSE_MS = 1000
/** The most questions at a time while the provider is out. */
const MOST_PROBES = 8
/** How many addresses that have asked meanwhile are remembered. */
const MOST_ASKED = 1000

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
  /** Without the query, which may contain a secret. */
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
  /** Credentials that are asked about, or that wait. */
  let underWay = 0
  let isClosed = false

  async function ask(credential: string, asker: Asker): Promise<Payload | Unanswered> {
    if (!availability.mayAsk(asker.party)) return OUT
    underWay++
    try {
      if (await places.take(asker)) return await askInPlace(credential, asker)
      return failed('busy', 'too many credentials wait for the provider', false)
    } finally {
      underWay--
      if (isClosed) closeWhenIdle()
    }
  }

  /** While the question waited for its place, the provider may have gone out. */
  async function askInPlace(credential: string, asker: Asker): Promise<Payload | Unanswered> {
    try {
      return availability.mayAsk(asker.party) ? await question(credential, asker.party) : OUT
    } finally {
      places.give(asker)
    }
  }

  async function question(credential: string, party: string): Promise<Payload | Unanswered> {
    const isProbe = availability.asked(party)
    const startedAt = performance.now()
    try {
      const payload = await post(credential)
      observe({ type: 'introspected', provider, durationMs: performance.now() - startedAt })
      availability.succeeded()
      return payload
    } catch (error) {
      const { reason, message, isOfCredential } = describe(error)
      if (isOfCredential) availability.succeeded()
      else availability.failed(message, party)
      return failed(reason, message, true)
    } finally {
      if (isProbe) availability.probed()
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

  async function prepare(): Promise<void> {
    if (!availability.hasSucceeded()) await ask(MADE_UP, OURSELVES)
  }

  return { ask, close, address: provider, hasSucceeded: availability.hasSucceeded, prepare }
}

/** No provider accepts this, and it is so short that none takes it for a leaked credential. */
const MADE_UP = 'tollgate'
/** Asks for the gateway itself. Its party is no address, so it takes the turn of no client. */
const OURSELVES: Asker = { party: 'tollgate', isKnown: false }

const OUT: Unanswered = { problem: 'the provider is out', wasAsked: false }

/**
 * A firewall before the provider may send 403 for a credential that looks like a path, and a server 413 for a long one. A 401
 * is about our own name and secret (RFC 7662, section 2.3), and a 429 about the number of questions.
 */
function isOfRequest(status: number): boolean {
  return status >= 400 && status <= 499 && status !== 401 && status !== 429
}

/** RFC 6749, section 2.3.1: both are form-encoded first. */
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
 * `up`: everybody may ask. `out`: the last questions failed, so each party may ask one question in each pause. The first success
 * ends this state.
 */
function createAvailability(provider: string, observe: Observer) {
  let failures = 0
  let answeredAt = Number.NEGATIVE_INFINITY
  /** Since when the provider is out, and when each party asked last, in monotonic milliseconds; `null` while the provider is up. */
  let out: { readonly since: number; readonly askedAt: Map<string, number> } | null = null
  let probes = 0

  function mayAsk(party: string): boolean {
    if (out === null) return true
    const askedAt = out.askedAt.get(party) ?? Number.NEGATIVE_INFINITY
    return probes < MOST_PROBES && performance.now() - askedAt >= PAUSE_MS
  }

  /** @returns whether the provider is out. Then `probed` must be called when the question ends */
  function asked(party: string): boolean {
    if (out === null) return false
    if (out.askedAt.size >= MOST_ASKED) out.askedAt.clear()
    out.askedAt.set(party, performance.now())
    probes++
    return true
  }

  function probed(): void {
    probes--
  }

  function failed(message: string, party: string): void {
    failures++
    const since = performance.now()
    if (out !== null || failures < FAILURES || since - answeredAt < JUST_MS) return
    out = { since, askedAt: new Map([[party, since]]) }
    observe({ type: 'introspection_out', provider, message })
  }

  function succeeded(): void {
    failures = 0
    answeredAt = performance.now()
    if (out === null) return
    observe({ type: 'introspection_recovered', provider, downMs: performance.now() - out.since })
    out = null
  }

  const hasSucceeded = (): boolean => answeredAt > Number.NEGATIVE_INFINITY

  return { mayAsk, asked, probed, failed, succeeded, hasSucceeded }
}
