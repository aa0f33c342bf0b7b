import * as z from 'zod'
import { parseBody } from '../../common/body.ts'
import { version } from '../../common/version.ts'
import { type ErrorCode, type Refusal, refuse } from '../errors.ts'
import type { External } from './config.ts'
import { exchange, type Failure, type Limits, type Outgoing, type Reply, TooSlow } from './http.ts'
import type { Ask, Platform } from './platform.ts'

/** The requests of one update to a platform, all of them within one total timeout. */
export interface Conversation {
  readonly ask: Ask
  end(): void
}

export interface ConversationOptions {
  readonly platform: Platform
  readonly baseUrl: string
  readonly external: External
  /** Used only in the header of requests, and removed from the platform's messages. */
  readonly token: string
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
}

export function converse({ platform, baseUrl, external, token, signal }: ConversationOptions): Conversation {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new TooSlow('total')), external.total_timeout)
  const over = AbortSignal.any([signal, late.signal])
  const limits: Limits = {
    connectTimeout: external.connect_timeout,
    readTimeout: external.read_timeout,
    maxResponse: external.max_response,
  }

  const credential = credentialOf(platform, token)

  const ask: Ask = async ({ method, path, body, response }) => {
    const outgoing: Outgoing = {
      method,
      url: `${baseUrl}${path}`,
      headers: {
        [credential.header]: credential.value,
        accept: 'application/json',
        'user-agent': `score-gateway/${version}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }
    const reply = await exchangePatiently(outgoing, limits, over)
    if ('failed' in reply) return failed(platform, reply)
    if (reply.status < 200 || reply.status > 299) return declined(platform, reply, credential)
    const said = response.safeParse(jsonOf(reply.body))
    return said.success ? { said: said.data } : trouble('external_unavailable', platform)
  }
  return { ask, end: () => clearTimeout(timer) }
}

/** A JWT has three parts of base64url. No other token of either platform has this form. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/
const BEARER = /^Bearer +(?=\S+$)/i

interface Credential {
  readonly header: string
  readonly value: string
  /** The part of the value that must not be repeated. */
  readonly secret: string
  readonly isAccessToken: boolean
}

/**
 * The form in which a platform accepts a credential. The access token of an application (OAuth, RFC 6750) goes as
 * `Authorization: Bearer`. A token that the user made goes into the platform's own header. An access token is a JWT, or
 * begins with `Bearer` in the body.
 */
function credentialOf({ tokenHeader }: Platform, token: string): Credential {
  const secret = token.replace(BEARER, '')
  if (secret === token && !JWT.test(token)) return { header: tokenHeader, value: token, secret, isAccessToken: false }
  return { header: 'Authorization', value: `Bearer ${secret}`, secret, isAccessToken: true }
}

/** A read that found no connection is tried once more. A write is never repeated. */
async function exchangePatiently(outgoing: Outgoing, limits: Limits, signal: AbortSignal): Promise<Reply | Failure> {
  const reply = await exchange(outgoing, limits, signal)
  const isWorthAnother = outgoing.method === 'GET' && 'failed' in reply && reply.failed === 'connection'
  return isWorthAnother ? exchange(outgoing, limits, signal) : reply
}

/** The codes by kind of failure. */
const FAILURES: Readonly<Record<Failure['failed'], ExternalCode>> = {
  connection: 'external_unavailable',
  response: 'external_unavailable',
  timeout: 'external_timeout',
  left: 'client_left',
}

function failed(platform: Platform, { failed: kind }: Failure): Refusal {
  return trouble(FAILURES[kind], platform)
}

interface Declined {
  readonly platform: Platform
  readonly credential: Credential
  readonly status: number
  readonly message: string
}

/** The codes by the response of the platform. The first row that fits is used. */
const DECLINES: readonly (readonly [error: ExternalCode, fits: (declined: Declined) => boolean])[] = [
  ['external_rate_limited', ({ status }) => status === 429],
  // An access token that has expired or is invalid gets a 401 (RFC 6750, 3.1).
  ['external_auth_failed', ({ credential, status }) => credential.isAccessToken && status === 401],
  ['external_auth_failed', ({ platform, status, message }) => platform.isBadToken(status, message)],
  ['external_rejected', ({ status }) => status >= 400 && status <= 499],
  // Also for a redirect: following it would send the token to an address that is not configured.
  ['external_unavailable', () => true],
]

function declined(platform: Platform, { status, headers, body }: Reply, credential: Credential): Refusal {
  const words = wordsOf(body)
  const [error] = DECLINES.find(([, fits]) =>
    fits({ platform, credential, status, message: words }),
  ) as (typeof DECLINES)[number]
  const message = words.replaceAll(credential.secret, '***').slice(0, MAX_MESSAGE)
  const retryAfter = error === 'external_rate_limited' ? retryAfterOf(headers['retry-after']) : undefined
  return {
    ...trouble(error, platform),
    ...(error === 'external_rejected' && { details: { platform: platform.name, status, message } }),
    ...(retryAfter !== undefined && { retryAfter }),
  }
}

type ExternalCode = Extract<ErrorCode, `external_${string}` | 'client_left'>

const TEXTS: Readonly<Record<ExternalCode, (title: string) => string>> = {
  external_rate_limited: (title) => `${title} limits the requests of this user; try again later`,
  external_auth_failed: (title) => `${title} does not accept this token`,
  external_rejected: (title) => `${title} has rejected the request`,
  external_unavailable: (title) => `${title} gives no usable answer; try again later`,
  external_timeout: (title) => `${title} has not answered in time; try again later`,
  client_left: () => 'the client has left',
}

function trouble(error: ExternalCode, { title }: Platform): Refusal {
  return refuse(error, TEXTS[error](title))
}

/** Achievements come out as they were written. */
const EXACT = new Set(['achievements'])

/** `undefined` if the body is no JSON. */
function jsonOf(body: Buffer): unknown {
  try {
    return parseBody(body, EXACT)
  } catch {
    return undefined
  }
}

const MAX_MESSAGE = 200
/** A response of more bytes is not searched for a message. */
const MAX_WORDS = 64 * 1024

const withMessage = z.object({ message: z.string().optional(), msg: z.string().optional() }).catch({})

/** The platform's own message; empty if there is none, or the response is too long. */
function wordsOf(body: Buffer): string {
  if (body.length > MAX_WORDS) return ''
  const { message, msg } = withMessage.parse(jsonOf(body))
  return message ?? msg ?? ''
}

const SECONDS = /^\d{1,9}$/

/** Whole seconds or a date in the form of HTTP (RFC 9110, 10.2.3). Nothing else is passed on. */
function retryAfterOf(value: string | undefined): string | undefined {
  if (value === undefined || SECONDS.test(value)) return value
  const date = new Date(value)
  return !Number.isNaN(date.getTime()) && date.toUTCString() === value ? value : undefined
}
