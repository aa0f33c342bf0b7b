import type { ErrorCode, STATUS_OF } from '../errors.ts'
import { beginOf, endOf, type Window } from '../quota/window.ts'
import type { Json } from './json.ts'
import type { WaysIn } from './ways-in.ts'

/** The gateway's own answers, as JSON Schema 2020-12 and as OpenAPI responses. */

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` })
const text = (description: string, more: Json = {}) => ({ type: 'string', description, ...more })
const whole = (description: string) => ({ type: 'integer', minimum: 0, description })
const moment = (description: string, type: unknown = 'string') => ({ type, format: 'date-time', description })

/** All members are always there, and no others. */
function closed(properties: Readonly<Record<string, object>>, description: string) {
  return { type: 'object', description, properties, required: Object.keys(properties), additionalProperties: false }
}

export interface Names {
  readonly categories: readonly string[]
  readonly windows: readonly Window[]
}

export function responseSchemas(names: Names) {
  const refusal = refusalOf(names)
  return {
    TollgateError: closed(
      { error: text('What went wrong, for programs.'), msg: text('What went wrong, for people.') },
      'A refusal of the gateway.',
    ),
    TollgateQuotaExceeded: closed(refusal, 'The quota refuses this request.'),
    TollgateQuotaProblem: closed({ ...PROBLEM, ...refusal }, 'The same for who accepts problems of RFC 9457.'),
    TollgateTooManyInFlight: closed(IN_FLIGHT, 'Too many requests of the caller are under way.'),
    TollgateInFlightProblem: closed({ ...PROBLEM, ...IN_FLIGHT }, 'The same for who accepts problems of RFC 9457.'),
    TollgateQuotaStatus: closed({ windows: windowsOf(names) }, 'What the caller has of each window.'),
    TollgateWindow: windowOf(names),
  }
}

const SCOPE = text('Whose limit: of the user, or of all together.', { enum: ['Personal', 'Global'] })
const windowName = ({ windows }: Names) => text('Name of the window.', { enum: windows.map(({ name }) => name) })

function refusalOf(names: Names) {
  return {
    error: { const: 'quota_exceeded' },
    msg: text('What is used up, and from when on requests may continue.'),
    retryAfterSeconds: { type: 'integer', minimum: 1, description: 'Whole seconds, as in Retry-After.' },
    quota: closed(
      {
        scope: SCOPE,
        category: text('Category of the route.', { enum: names.categories }),
        window: windowName(names),
        limit: whole('Tokens that the window allows.'),
        used: whole('Tokens that are used already.'),
        requested: whole('Tokens that this request would have cost.'),
        resetAt: moment('When the window ends, in UTC.'),
        retryAtBeijing: text('The same moment in Asia/Shanghai.', {
          pattern: '^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d$',
        }),
        timeZone: { const: 'Asia/Shanghai' },
      },
      'The window that refuses.',
    ),
  }
}

const IN_FLIGHT = {
  error: { const: 'too_many_in_flight' },
  msg: text('Whose requests are too many: of the user, or of the connection.'),
}

const PROBLEM = {
  type: { const: 'https://iana.org/assignments/http-problem-types#quota-exceeded' },
  title: text('Of the type.'),
  status: { const: 429 },
  detail: text('As msg.'),
  'violated-policies': { type: 'array', items: { type: 'string' }, description: 'As named in RateLimit-Policy.' },
}

function windowsOf({ categories }: Names) {
  const ofEach = { type: 'array', items: ref('schemas', 'TollgateWindow') }
  const byCategory = Object.fromEntries(categories.map((name) => [name, ofEach]))
  return closed(byCategory, 'By category: Personal first, the shortest window first.')
}

function windowOf(names: Names) {
  return closed(
    {
      scope: SCOPE,
      window: windowName(names),
      limit: whole('Tokens that the window allows.'),
      used: whole('Tokens that are used.'),
      remaining: whole('Tokens that are left.'),
      startedAt: moment('In UTC; null for a window that is not running.', ['string', 'null']),
      resetAt: moment('In UTC; null for a window that is not running.', ['string', 'null']),
    },
    'A window.',
  )
}

const header = (description: string, schema: object = { type: 'string' }) => ({ description, schema })
const RETRY_AFTER = header('Whole seconds to wait.', { type: 'integer', minimum: 1 })
const RATE_LIMIT = {
  'RateLimit-Policy': header(
    'The limits: `"name";q=tokens;w=seconds`; of requests under way `"name";q=requests;qu="concurrent-requests"`.',
  ),
  RateLimit: header('What is left of them: `"name";r=tokens;t=seconds until the window ends`.'),
}
const json = (name: string) => ({ 'application/json': { schema: ref('schemas', name) } })
const either = (...names: string[]) => ({ schema: { oneOf: names.map((name) => ref('schemas', name)) } })

/** No route or another method: what a document describes has both. */
type OfOtherRequests = 404 | 405 | 501
export type OwnStatus = Exclude<(typeof STATUS_OF)[ErrorCode], OfOtherRequests>

const refused = (description: string, headers?: Json) => ({
  description,
  ...(headers !== undefined && { headers }),
  content: json('TollgateError'),
})

export const RESPONSES: Readonly<Record<OwnStatus, Json>> = {
  400: refused('The request is not well formed, or the gateway cannot tell the cost from its body.'),
  401: refused('The credential is missing or not valid.', { 'WWW-Authenticate': header('Bearer.') }),
  408: refused('The request came too slowly.'),
  413: refused('The body is larger than the gateway takes.'),
  414: refused('The request target is too long.'),
  417: refused('The gateway meets no expectation but 100-continue.'),
  422: refused('The key of this request is that of an earlier one with another body.'),
  429: {
    description:
      'The quota is used up: wait for `Retry-After` seconds, or until `X-Quota-Reset`. Or too many requests of the caller are under way: wait until one has ended.',
    headers: {
      'Retry-After': RETRY_AFTER,
      'X-Quota-Reset': header('As quota.resetAt; where the quota is used up.'),
      ...RATE_LIMIT,
    },
    content: {
      'application/json': either('TollgateQuotaExceeded', 'TollgateTooManyInFlight'),
      'application/problem+json': either('TollgateQuotaProblem', 'TollgateInFlightProblem'),
    },
  },
  431: refused('The header fields are too many or too long.'),
  500: refused('Something went wrong in the gateway.'),
  502: refused('The service cannot be reached, or gave no whole answer, or one that is not valid HTTP.'),
  503: refused('The gateway is overloaded, or its store takes no charges.', { 'Retry-After': RETRY_AFTER }),
  504: refused('The service did not answer in time.'),
  505: refused('The gateway speaks HTTP/1.1 and HTTP/1.0.'),
}

/** Names in `components.responses`. */
export const RESPONSE_NAMES: Readonly<Record<OwnStatus, string>> = {
  400: 'TollgateBadRequest',
  401: 'TollgateUnauthorized',
  408: 'TollgateTooSlow',
  413: 'TollgateTooLarge',
  414: 'TollgateTargetTooLong',
  417: 'TollgateExpectationFailed',
  422: 'TollgateKeyReused',
  429: 'TollgateTooManyRequests',
  431: 'TollgateHeadersTooLarge',
  500: 'TollgateInternal',
  502: 'TollgateBadGateway',
  503: 'TollgateUnavailable',
  504: 'TollgateTimeout',
  505: 'TollgateVersionNotSupported',
}

/** What any request may be answered with, also one that the gateway answers itself; and any that is forwarded. */
const OF_ANY = [400, 408, 413, 414, 417, 429, 431, 500, 503, 505] as const
export const OF_FORWARDED: readonly OwnStatus[] = [...OF_ANY, 502, 504]

export function responseRef(status: OwnStatus): Json {
  return ref('responses', RESPONSE_NAMES[status])
}

const STARTED = Date.UTC(2026, 7, 6, 14, 6, 26)

function windowExample(window: Window) {
  const { name } = window
  const [startedAt, resetAt] = [beginOf(window, STARTED), endOf(window, STARTED)].map((at) =>
    new Date(at).toISOString(),
  )
  return { scope: 'Personal', window: name, limit: 120, used: 8, remaining: 112, startedAt, resetAt }
}

/** `GET /me/quota`, and under its other name. */
export function statusOperation(operationId: string, { categories, windows }: Names, security: WaysIn['byDefault']) {
  const example = { windows: Object.fromEntries(categories.map((name) => [name, windows.map(windowExample)])) }
  return {
    tags: ['Quota'],
    operationId,
    summary: 'What is left of your quota',
    description: 'Asks for a credential and costs nothing.',
    security,
    responses: {
      200: {
        description: 'The windows of the caller.',
        headers: RATE_LIMIT,
        content: { 'application/json': { schema: ref('schemas', 'TollgateQuotaStatus'), example } },
      },
      ...Object.fromEntries([...OF_ANY, 401 as const].map((status) => [status, responseRef(status)])),
    },
  }
}

/** `GET /me/usage`. */
export function usageOperation(windows: readonly Window[], security: WaysIn['byDefault']) {
  const [first] = windows
  const query = (name: string, description: string) => ({ name, in: 'query', description, schema: { type: 'string' } })
  const times = { start: iso(STARTED), end: iso(STARTED + 3_600_000) }
  const row = { user: 'alice', category: 'read', window: first?.name, ...times, tokens: 8, running: true }
  const range = { from: iso(STARTED - 86_400_000), to: iso(STARTED), by: 'user', step: 'run', window: first?.name }
  const example = { ...range, complete: true, rows: [row], next: null }
  return {
    tags: ['Quota'],
    operationId: 'getUsage',
    summary: 'What you used',
    description: 'Asks for a credential and costs nothing.',
    security,
    parameters: [
      query('from', 'ISO 8601, or a day of the time zone in which days of use are counted. Default a day before `to`.'),
      query('to', 'Behind the last moment. Default now.'),
      query('by', '`user`, or `organisation` for all users of yours together.'),
      query('category', 'Only this one.'),
      query('window', 'Whose runs are counted.'),
      query('step', '`range` (default), `run`, `30m`, `1h` or `1d`.'),
      query('limit', 'Rows of a page, 1 to 1000. Default 100.'),
      query('cursor', '`next` of the page before.'),
    ],
    responses: {
      200: {
        description: 'Runs that start in the range.',
        content: { 'application/json': { schema: { type: 'object' }, example } },
      },
      ...Object.fromEntries([...OF_ANY, 401 as const].map((status) => [status, responseRef(status)])),
    },
  }
}

const iso = (at: number) => new Date(at).toISOString()

/** What everybody may read. */
export function documentOperation(summary: string, example: object) {
  return {
    tags: ['Quota'],
    summary,
    description: 'Asks for no credential and costs nothing.',
    security: [],
    responses: {
      200: {
        description: 'What is known now.',
        content: { 'application/json': { schema: { type: 'object' }, example } },
      },
      ...Object.fromEntries(OF_ANY.map((status) => [status, responseRef(status)])),
    },
  }
}
