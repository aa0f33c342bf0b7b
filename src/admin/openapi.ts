import { z } from 'zod'
import { alertNotice, errorResponse, named } from '../contract/admin.ts'
import { componentsOf, contentOf } from '../contract/components.ts'
import { EXAMPLES, type Example } from '../contract/examples.ts'
import { describedParameter } from '../contract/fields.ts'
import { ADMIN_SESSION } from '../control/admin-session.ts'
import { namesIn, openapiDocument, operationId, type Parameter, pathParameter } from '../lib/openapi.ts'
import { parametersOf, requestBody } from '../lib/openapi-schemas.ts'
import { LEAST_TAGGED } from './form.ts'
import { type AdminError, type Doc, type Guard, type Method, ok, type Route, STATUS_OF } from './http.ts'
import { MOST_OF_KEY } from './idempotency-key.ts'
import { LINE_TYPES } from './line-body.ts'
import { isForLeads } from './permissions.ts'
import { route } from './route.ts'

/** The OpenAPI 3.1 document of the listener, made from its routes and from the same schemas that validate. */

/** The document is made when it is first requested, and not at each start. */
export function openapiRoute(routes: readonly Route[], version: string): Route {
  let document: ReturnType<typeof openapi> | undefined
  const itself: Route = route('GET', '/openapi.json', {
    guard: 'page',
    summary: 'This document',
    responses: { 200: z.looseObject({}) },
    handle: () => {
      document ??= openapi([...routes, itself], version)
      return { ...ok(document), isConstant: true }
    },
  })
  return itself
}

export function openapi(routes: readonly Route[], version: string) {
  const info = {
    title: 'Tollgate admin API',
    version,
    description:
      'What operators and the dashboard read and change at run time. Times are ISO 8601 in UTC. Every change is an entry of the audit.',
    license: { name: 'MIT', identifier: 'MIT' },
  }
  const components = { schemas: componentsOf(named), securitySchemes: SECURITY_SCHEMES }
  return { ...openapiDocument(info, routes, operation, components), webhooks: { alert: { post: WEBHOOK } } }
}

const WEBHOOK = {
  operationId: 'receiveAlert',
  tags: ['What goes on'],
  summary: 'A threshold of an alert was reached',
  description:
    'The gateway sends this event to the webhook of the alert, again and again until the webhook responds with a status below 300.',
  requestBody: { required: true, content: { 'application/cloudevents+json': contentOf(alertNotice, named) } },
  responses: { '2XX': { description: 'Delivered.' }, 410: { description: 'The receiver wants no further events.' } },
}

const SECURITY_SCHEMES = {
  token: { type: 'http', scheme: 'bearer', description: 'An admin token of the configuration.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: ADMIN_SESSION,
    description:
      'The cookie that POST /api/session sets. With TLS its name is __Host-tollgate_session. Changes with this cookie are accepted only from a page of the same origin.',
  },
  drain: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Tollgate-Drain',
    description: 'The word yes. It is accepted only from a loopback address of the same machine.',
  },
}

/** The groups of operations as tags: a name, and the paths of the group. */
export const PARTS: readonly (readonly [name: string, paths: RegExp])[] = [
  ['Probes and the document', /^\/(livez|readyz|metrics|drain|openapi)/],
  ['Sessions', /^\/api\/session/],
  ['Settings of the quota', /^\/api\/(quota|plans|in-force$)/],
  ['Users', /^\/api\/(users|in-force\/users|overrides)/],
  ['Organisations', /^\/api\/(organisations|in-force\/organisations)/],
  ['Grants', /^\/api\/grants/],
  ['What goes on', /^\/api\/(now|status|routes|explain|usage|refusals|failures|alerts)/],
  ['Access keys', /^\/api\/(tokens|handover)/],
  ['The audit', /^\/api\/audit/],
]

function operation({ method, path, guard, doc }: Route): object {
  const example = EXAMPLES[`${method} ${path.replace(/:(\w+)/g, '{$1}')}`] ?? {}
  const parameters = [
    ...namesIn(path).map((name) => pathParameter(name, 'Percent-encoded.')),
    ...queryParameters(doc),
    ...(doc.ifMatch === true ? [IF_MATCH] : []),
    ...(doc.idempotencyKey === true ? [IDEMPOTENCY_KEY] : []),
    ...(hasTag(method, doc) ? [IF_NONE_MATCH] : []),
  ].map((parameter) => withValue(parameter, example))
  return {
    operationId: operationId(method, path.replace(/^\/api/, '')),
    tags: PARTS.flatMap(([name, paths]) => (paths.test(path) ? [name] : [])),
    summary: doc.summary,
    description: `${doc.more === undefined ? '' : `${doc.more} `}${ASKED_BY[guard]}${isForLeads({ method, path }) ? FOR_LEADS : ''}`,
    ...(rolesOf({ method, path, guard }).length > 0 && { 'x-roles': rolesOf({ method, path, guard }) }),
    ...(parameters.length > 0 && { parameters }),
    ...(doc.body !== undefined && {
      requestBody:
        doc.body === 'lines'
          ? { required: true, content: lines(example.body, { type: 'string', format: 'binary' }) }
          : requestBody(doc.body, { ...contentOf(doc.body, named), ...shown(example.body) }),
    }),
    responses: { ...errors(method, doc, guard), ...tagged(method, doc, withTexts(responsesOf(doc, example), doc)) },
    security: SECURITY[guard] ?? [],
  }
}

/** The parameters of a query. Zod leaves the default out if the text of a query becomes a number, so it is added here. */
function queryParameters({ query }: Doc): Parameter[] {
  if (query === undefined) return []
  return parametersOf('query', query).map((parameter) => {
    const { description, ...schema } = parameter.schema as { readonly description?: string }
    const usual = query.shape[parameter.name]?.safeParse(undefined).data
    // A flag in a query is a text, so the default for a missing flag is no value of the schema.
    const withDefault = usual === undefined || usual === false ? schema : { ...schema, default: usual }
    return { ...parameter, schema: withDefault, description: description ?? describedParameter(parameter.name) }
  })
}

const IF_MATCH: Parameter = {
  name: 'If-Match',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description:
    'The ETag that you have read, as `"version"`. `"0"` means that nothing may be set yet, and `*` that anything may be set. Without this header the change is always made.',
}

const IDEMPOTENCY_KEY: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: MOST_OF_KEY },
  description:
    'A text of your own, such as a UUID. Use a new one for each new request. If you send a request again with the same key, nothing is done a second time, and you get the result of the first request.',
}

const IF_NONE_MATCH: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'The ETag of the response that you already have.',
}

const OF_VERSION = {
  ETag: { description: 'The version. Send it in If-Match.', schema: { type: 'string', pattern: '^"\\d+"$' } },
}
const OF_BYTES = {
  ETag: {
    description: `A hash of the response for If-None-Match. A response of fewer than ${LEAST_TAGGED} characters has none.`,
    schema: { type: 'string', pattern: '^W/"sha-[\\w-]{22}"$' },
  },
}

/** Whether the ETag of a 200 comes from its bytes. Lines are a stream without an ETag. */
function hasTag(method: Method, { hasVersion, responses }: Doc): boolean {
  const ok = responses[200] ?? null
  return method === 'GET' && hasVersion !== true && ok !== null && ok !== 'lines'
}

/** The responses with the ETag of the 200, and with a 304 for a client that already has the same bytes. */
function tagged(method: Method, doc: Doc, responses: Record<string, unknown>): Record<string, unknown> {
  const { 200: ok, ...others } = responses
  if (doc.hasVersion === true) return { 200: { ...(ok as object), headers: OF_VERSION }, ...others }
  if (!hasTag(method, doc)) return responses
  const unchanged = {
    description: 'The client already has this response, so it is not sent again.',
    headers: OF_BYTES,
  }
  return { 200: { ...(ok as object), headers: OF_BYTES }, 304: unchanged, ...others }
}

function withValue(parameter: Parameter, { parameters = {} }: Example): object {
  const value = parameters[parameter.name]
  if (value === undefined) return parameter
  const { type } = parameter.schema as { readonly type?: string }
  return { ...parameter, example: type === 'integer' ? Number(value) : value }
}

/** The example is for the response below 400. */
function responsesOf({ responses }: Doc, { response, note }: Example): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, schema]) => {
      const example = Number(status) < 400 ? response : undefined
      if (schema === null) return [status, { description: 'Done. The response has no content.' }]
      if (schema === 'lines') return [status, { description: 'A line for each.', content: lines(example) }]
      if (schema === 'text')
        return [
          status,
          { description: 'Text.', content: { 'text/plain': { schema: { type: 'string' }, ...shown(example, note) } } },
        ]
      const content = { 'application/json': { ...contentOf(schema, named), ...shown(example, note) } }
      return [status, { description: named.get(schema)?.description ?? 'JSON.', content }]
    }),
  )
}

function shown(value: unknown, summary?: string): object {
  return value === undefined ? {} : { examples: { usual: { ...(summary !== undefined && { summary }), value } } }
}

/** The example is for the first type. */
function lines(example: unknown, schema: object = { type: 'string' }): object {
  const types = Object.values(LINE_TYPES)
  return Object.fromEntries(types.map((type, i) => [type, { schema, ...(i === 0 && shown(example)) }]))
}

function withTexts(responses: Record<string, unknown>, { textTypes }: Doc): Record<string, unknown> {
  const { 200: ok } = responses as { 200?: { content?: object } }
  if (textTypes === undefined || ok === undefined) return responses
  const texts = Object.fromEntries(textTypes.map((type) => [type, { schema: { type: 'string' } }]))
  return { ...responses, 200: { ...ok, content: { ...ok.content, ...texts } } }
}

const ASKED_BY: Readonly<Record<Guard, string>> = {
  open: 'For anybody, under any host name.',
  machine:
    'For an admin token of the role admin, or from this machine by X-Tollgate-Drain; never for a page in a browser.',
  page: 'For anybody.',
  login: 'For anybody but the pages of others.',
  session: 'For whoever has an admin token or a session, and for whoever sent none.',
  read: 'For an admin token of the role admin or viewer, or a session.',
  change: 'For an admin token of the role admin, or a session of that role from the page of the same origin.',
}

const FOR_LEADS = ' Also for a lead, for what belongs to the own organisation.'

const ROLES: Partial<Readonly<Record<Guard, readonly string[]>>> = {
  machine: ['admin'],
  read: ['viewer', 'admin'],
  change: ['admin'],
}

/** The roles that may use an operation; none if anybody may. */
function rolesOf({ guard, ...operation }: Pick<Route, 'method' | 'path' | 'guard'>): readonly string[] {
  const roles = ROLES[guard] ?? []
  return isForLeads(operation) ? [...roles, 'lead'] : roles
}

/** For `session`, an empty entry means that a request may come without a credential. */
const CREDENTIALS = [{ token: [] }, { session: [] }]
const SECURITY: Partial<Readonly<Record<Guard, readonly object[]>>> = {
  machine: [{ token: [] }, { drain: [] }],
  session: [...CREDENTIALS, {}],
  read: CREDENTIALS,
  change: CREDENTIALS,
}

/** The errors of every operation. `OF_BODY` are added for every method but GET, and `OF_GUARD` for the guard of the route. */
const ALWAYS: readonly AdminError[] = ['bad_request', 'request_timeout', 'headers_too_large', 'internal']
const OF_BODY: readonly AdminError[] = ['payload_too_large', 'unsupported_media_type']
const OF_SIGNED_IN: readonly AdminError[] = [
  'host_not_allowed',
  'no_admin_token',
  'no_role',
  'unauthorized',
  'too_many_attempts',
]
const OF_GUARD: Readonly<Record<Guard, readonly AdminError[]>> = {
  open: [],
  machine: [
    'host_not_allowed',
    'not_from_browsers',
    'no_admin_token',
    'unauthorized',
    'too_many_attempts',
    'forbidden',
    'overloaded',
  ],
  page: ['host_not_allowed', 'overloaded'],
  login: ['host_not_allowed', 'not_from_our_page', 'overloaded'],
  session: [...OF_SIGNED_IN, 'overloaded'],
  read: [...OF_SIGNED_IN, 'store_unavailable', 'forbidden', 'overloaded'],
  change: [...OF_SIGNED_IN, 'store_unavailable', 'outcome_unknown', 'forbidden', 'not_from_our_page', 'overloaded'],
}

/** By status, because several codes may share one. */
function errors(method: Method, { errors = [] }: Doc, guard: Guard): Record<string, unknown> {
  const ofBody = method === 'GET' ? [] : OF_BODY
  const codes = new Set([...ALWAYS, ...ofBody, ...OF_GUARD[guard], ...errors])
  const byStatus = Map.groupBy(codes, (code) => STATUS_OF[code])
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${code}\``).join(', '),
        ...(codes.includes('version_conflict') && { headers: OF_VERSION }),
        content: { 'application/json': contentOf(errorResponse, named) },
      },
    ]),
  )
}
