import type { Config } from '../config/config.ts'
import { codesOf, type OwnStatus } from '../contract/client.ts'
import { PUBLIC_PATHS } from '../quota/own-paths.ts'
import type { Examples } from './examples.ts'
import type { Json } from './json.ts'
import type { WaysIn } from './ways-in.ts'

/** Responses of the gateway itself, as OpenAPI describes them. Their bodies are those of the contract. */

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` })
const header = (description: string, schema: object = { type: 'string' }) => ({ description, schema })
const RETRY_AFTER = header('Whole seconds to wait.', { type: 'integer', minimum: 1 })
const RATE_LIMIT = {
  'RateLimit-Policy': header(
    'The limits: `"name";q=tokens;w=seconds`; of requests under way `"name";q=requests;qu="concurrent-requests"`.',
  ),
  RateLimit: header('What is left of them: `"name";r=tokens;t=seconds until the window ends`.'),
}
const TOO_MANY = {
  'Retry-After': RETRY_AFTER,
  'X-Quota-Reset': header('As quota.resetAt; where the quota is used up.'),
  'X-Tollgate-Quota-State': header(
    '`never` where no waiting helps, because the request costs more than a limit ever allows.',
  ),
  ...RATE_LIMIT,
}

interface Described {
  /** The name in `components.responses`. */
  readonly name: string
  readonly text: string
  readonly headers?: Json
}

const DESCRIBED: Readonly<Record<OwnStatus, Described>> = {
  400: {
    name: 'TollgateBadRequest',
    text: 'The request is not well formed, or the gateway cannot tell the cost from its body.',
  },
  401: {
    name: 'TollgateUnauthorized',
    text: 'The credential is missing or not valid.',
    headers: { 'WWW-Authenticate': header('Bearer.') },
  },
  408: { name: 'TollgateTooSlow', text: 'The request came too slowly.' },
  413: { name: 'TollgateTooLarge', text: 'The body is larger than the gateway takes.' },
  414: { name: 'TollgateTargetTooLong', text: 'The request target is too long.' },
  417: { name: 'TollgateExpectationFailed', text: 'The gateway meets no expectation but 100-continue.' },
  422: { name: 'TollgateKeyReused', text: 'The key of this request is that of an earlier one that differs.' },
  429: {
    name: 'TollgateTooManyRequests',
    text: 'The quota is used up: wait for `Retry-After` seconds, or until `X-Quota-Reset`, unless `X-Tollgate-Quota-State` is `never`. Or too many requests of the caller are under way: wait until one has ended.',
    headers: TOO_MANY,
  },
  431: { name: 'TollgateHeadersTooLarge', text: 'The header fields are too many or too long.' },
  500: { name: 'TollgateInternal', text: 'Something went wrong in the gateway.' },
  502: {
    name: 'TollgateBadGateway',
    text: 'The service cannot be reached, or gave no whole response, or one that is not valid HTTP.',
  },
  503: {
    name: 'TollgateUnavailable',
    text: 'The gateway is overloaded, or its store takes no charges.',
    headers: { 'Retry-After': RETRY_AFTER },
  },
  504: { name: 'TollgateTimeout', text: 'The service did not respond in time.' },
  505: { name: 'TollgateVersionNotSupported', text: 'The gateway speaks HTTP/1.1 and HTTP/1.0.' },
}

const either = (...names: string[]) => ({ schema: { oneOf: names.map((name) => ref('schemas', name)) } })

/** `components.responses`: the responses that the gateway adds to those of the service, with its operator's bodies. */
export function ownResponses(errors: Config['errors'], { refusal, problem }: Examples): Record<string, Json> {
  const statuses = Object.keys(DESCRIBED).map((status) => Number(status) as OwnStatus)
  return Object.fromEntries(
    statuses.map((status) => {
      const { name, text, headers } = DESCRIBED[status]
      const codes = codesOf(status)
      const given = codes.flatMap((code) => errors.get(code)?.contentType.text.replace(/ *;.*/, '') ?? [])
      const content = {
        ...(status === 429
          ? {
              'application/json': { ...either('TollgateQuotaExceeded', 'TollgateTooManyInFlight'), example: refusal },
              'application/problem+json': {
                ...either('TollgateQuotaProblem', 'TollgateInFlightProblem'),
                example: problem,
              },
            }
          : { 'application/json': { schema: ref('schemas', 'TollgateError') } }),
        ...Object.fromEntries(given.map((type) => [type, { schema: {} }])),
      }
      const description = `${text} \`error\` is ${codes.map((code) => `\`${code}\``).join(' or ')}.`
      return [name, { description, ...(headers !== undefined && { headers }), content }]
    }),
  )
}

/** The statuses that any request may get, also one that the gateway itself responds to, and those of any forwarded request. */
const OF_ANY = [400, 408, 413, 414, 417, 429, 431, 500, 503, 505] as const
export const OF_FORWARDED: readonly OwnStatus[] = [...OF_ANY, 502, 504]

export function responseRef(status: OwnStatus): Json {
  return ref('responses', DESCRIBED[status].name)
}

const refs = (...statuses: OwnStatus[]) =>
  Object.fromEntries([...OF_ANY, ...statuses].map((status) => [status, responseRef(status)]))

function described(description: string, schema: string, example: unknown, headers?: Json) {
  const content = { 'application/json': { schema: ref('schemas', schema), ...(example !== undefined && { example }) } }
  return { description, ...(headers !== undefined && { headers }), content }
}

/** `GET /me/quota`, and `GET /quota`, its other name. */
export function statusOperation(path: string, example: Examples['status'], security: WaysIn['byDefault']) {
  return {
    tags: ['Quota'],
    operationId: path === '/me/quota' ? 'getMyQuota' : 'getQuota',
    summary: 'How much of your quota is left',
    description: 'Needs a credential and costs nothing.',
    security,
    responses: {
      200: described('The windows of the caller.', 'TollgateQuotaStatus', example, RATE_LIMIT),
      ...refs(401),
    },
  }
}

/** `GET /me/usage`. */
export function usageOperation(example: Examples['usage'], security: WaysIn['byDefault']) {
  const query = (name: string, description: string) => ({ name, in: 'query', description, schema: { type: 'string' } })
  return {
    tags: ['Quota'],
    operationId: 'getMyUsage',
    summary: 'How much you have used',
    description: 'Needs a credential and costs nothing.',
    security,
    parameters: [
      query(
        'from',
        'ISO 8601, a day of the time zone in which days of use are counted, or a span before `to` like `6h` or `7d`. Default the day before that of `to`, or the first moment since which use is counted if that is later.',
      ),
      query('to', 'Behind the last moment. Default now.'),
      query('by', '`user`, or `organisation` for all users of yours together.'),
      query('category', 'Only this one.'),
      query('window', 'Whose runs are counted.'),
      query('step', '`range` (default), `run`, `30m`, `1h` or `1d`.'),
      query('limit', 'Rows of a page, 1 to 1000. Default 100.'),
      query('cursor', '`next` of the page before.'),
    ],
    responses: { 200: described('Runs that start in the range.', 'TollgateUsage', example), ...refs(401) },
  }
}

/** The operation of a document that everybody may read. */
export function documentOperation(path: string, examples: Examples) {
  const [operationId, summary, schema, example] =
    path === PUBLIC_PATHS.failureRate
      ? ['getFailureRate', 'How many requests failed in 7 days, by half hour', 'TollgateFailureRate', examples.rate]
      : ['getPrices', 'What each route costs, and the limits', 'TollgatePriceList', examples.prices]
  return {
    tags: ['Quota'],
    operationId,
    summary,
    description: 'Needs no credential and costs nothing.',
    security: [],
    responses: {
      200: described('What is known now.', schema as string, example),
      304: { description: 'The response has not changed since the one that `If-None-Match` names.' },
      ...refs(),
    },
  }
}
