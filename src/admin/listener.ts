import { type IncomingHttpHeaders, type IncomingMessage, METHODS, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import tls from 'node:tls'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { patientClose } from '../lib/closing.ts'
import { jsonFault, memberNamedTwice } from '../lib/json-fault.ts'
import type { Certificate } from '../lib/tls.ts'
import type { Observer } from '../observe/observation.ts'
import { isSilence, StoreError } from '../quota/quota-store.ts'
import { type Assets, pageResponse } from './assets.ts'
import { createDesk, type DeskOptions, OutcomeUnknown } from './change.ts'
import { boundConnections } from './connections.ts'
import { createGuard } from './guard.ts'
import {
  type AdminError,
  type AdminResponse,
  badFields,
  type FieldProblem,
  type Guard,
  type Identity,
  NO_CONTENT,
  type Route,
  refusal,
  SECURITY_HEADERS,
} from './http.ts'
import { unreadConditions } from './if-match.ts'
import { inForceRoutes } from './limits-now.ts'
import { openapiRoute } from './openapi.ts'
import { auditRoutes } from './routes/audit.ts'
import { type Explain, explainRoutes } from './routes/explain.ts'
import { failureRoutes } from './routes/failures.ts'
import { createLogin } from './routes/login.ts'
import { nowRoutes } from './routes/now.ts'
import { type ProbeOptions, probeRoutes } from './routes/probes.ts'
import { quotaRoutes } from './routes/quota.ts'
import { tokenRoutes } from './routes/tokens.ts'
import { userRoutes } from './routes/users.ts'
import type { AdminToken } from './session-cookie.ts'
import { sessionRoutes } from './sessions.ts'

export interface AdminOptions extends ProbeOptions, DeskOptions {
  /** Port 0 for any free one. */
  readonly listen: { readonly host: string; readonly port: number }
  /** `null` for requests in the clear. */
  readonly certificate?: Certificate | null
  /** For /api; without one it answers 403. */
  readonly credentials: readonly AdminToken[]
  /** More names that the Host header may carry, in lower case. Address literals, localhost and `listen.host` always may. */
  readonly hosts?: readonly string[]
  readonly explain: Explain
  /** The dashboard; `null` for none. */
  readonly assets: Assets | null
  /** Of Tollgate, for the OpenAPI document. */
  readonly version: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

export interface Admin {
  /** @throws Error when the address cannot be had */
  listen(): Promise<{ url: string }>
  /** Closes idle connections at once, and lets requests under way finish, for 2 seconds at most. */
  close(): Promise<void>
}

type Check = ReturnType<typeof createGuard>

const MAX_BODY = 64 * 1024
/** For a whole request to arrive, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000
/**
 * What Node's server must be made with. Fastify sets the first when the server is there already: beside the usual 60 s for a
 * head, Node then gives a body as long, and looks only every 30 s (26.10).
 */
const SERVER_TIMEOUTS = {
  requestTimeout: REQUEST_TIMEOUT_MS,
  headersTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: 1000,
}
/** A user id of 256 bytes, each of them percent-encoded. */
const MAX_PARAM = 3 * 256

/** The listener for operators: probes, metrics, the JSON API and the dashboard. Never reachable through the gateway. */
export function createAdmin(options: AdminOptions): Admin {
  const { listen, certificate = null, credentials, hosts = [], now, observe = () => {} } = options
  const login = createLogin({ credentials, now })
  const check = createGuard({ login, credentials, names: [listen.host.toLowerCase(), ...hosts], now })
  const app = createServer(certificate, observe)
  const routes = routesOf(options, login)
  for (const [path, methods] of Map.groupBy(routes, (route) => route.path)) addPath(app, path, methods, check)
  addPage(app, options.assets, check)
  return {
    listen: async () => ({ url: await app.listen({ host: listen.host, port: listen.port }) }),
    close: patientClose(app.server, () => app.close()),
  }
}

/** Every route of the listener, but for the files of the dashboard. */
export function routesOf(options: AdminOptions, login: ReturnType<typeof createLogin>): Route[] {
  const desk = createDesk(options)
  const routes = [
    ...probeRoutes(options),
    ...sessionRoutes(login, options.now, options.certificate != null),
    ...quotaRoutes(desk),
    ...userRoutes(desk),
    ...inForceRoutes(desk),
    ...explainRoutes(desk, options.explain),
    ...nowRoutes(desk, options.now),
    ...failureRoutes(options.store),
    ...tokenRoutes(desk, options.now),
    ...auditRoutes(desk),
  ]
  return [...routes, openapiRoute(routes, options.version)]
}

/** Routes are validated by their own schemas. Those of Fastify would load compilers at each start. */
function noCompiler(): never {
  throw new Error('a route has a schema of Fastify')
}

function createServer(certificate: Certificate | null, observe: Observer): FastifyInstance {
  const onError = (error: FastifyError, _request: FastifyRequest, reply: FastifyReply) =>
    send(reply, responseTo(error, observe))
  const app: FastifyInstance = fastify({
    bodyLimit: MAX_BODY,
    requestTimeout: REQUEST_TIMEOUT_MS,
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    routerOptions: { maxParamLength: MAX_PARAM },
    frameworkErrors: onError,
    clientErrorHandler: refuseConnection,
    // A handshake that is not finished would else hold its connection for two minutes.
    ...(certificate === null
      ? { http: SERVER_TIMEOUTS }
      : { https: { ...SERVER_TIMEOUTS, ...certificate.current(), handshakeTimeout: REQUEST_TIMEOUT_MS } }),
  }) as FastifyInstance
  const { server } = app
  boundConnections(server)
  server.prependListener('request', closeBehindUpgrade)
  if (server instanceof tls.Server) certificate?.onChange((next) => server.setSecureContext(next))
  // Fastify knows a dozen methods; for the others a known path would be "not found".
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  // Only JSON: a form of any page could send a body of text/plain that parses as JSON.
  app.removeAllContentTypeParsers()
  const parse = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser(
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'string' },
    // A DELETE may go without, whatever type it names.
    (request, text, done) => {
      if (text === '') return done(null, undefined)
      if (isCoded(request.headers)) return done(new CodedBody())
      const json = (text as string).replace(BYTE_ORDER_MARK, '')
      const fault = jsonFault(json)
      if (fault !== null) return done(new BadBody('', fault))
      const twice = memberNamedTwice(json)
      if (twice !== null) return done(new BadBody(twice, 'is here twice: keep one'))
      return parse(request, text as string, done)
    },
  )
  app.setErrorHandler(onError)
  return app
}

/**
 * A request that asks for an upgrade is served as the plain one that it also is, and is the last of its connection: Node throws
 * away what came in one packet behind it, so that what comes next may begin in the middle of a message (26.10).
 */
function closeBehindUpgrade({ headers }: IncomingMessage, res: ServerResponse): void {
  if (headers.upgrade !== undefined) res.shouldKeepAlive = false
}

/** What guards the methods that a path does not have, by the guard of one that it has: nothing is done there. */
function guardOfOthers(guard: Guard): Guard {
  if (guard === 'machine') return 'page'
  return guard === 'change' ? 'read' : guard
}

/** One path with all its methods. Whether a request may go on is settled before its body is read. */
function addPath(app: FastifyInstance, path: string, routes: readonly Route[], check: Check): void {
  const routeOf = (method: string) => routes.find((route) => route.method === (method === 'HEAD' ? 'GET' : method))
  const allow = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
  const usual = guardOfOthers(routes[0]?.guard ?? 'read')
  const identities = new WeakMap<FastifyRequest, Identity | null>()
  app.route({
    method: app.supportedMethods,
    url: path,
    async onRequest(request, reply) {
      const { method, headers, ip } = request
      const route = routeOf(method)
      const guarded = check(route?.guard ?? usual, { method, headers, address: ip })
      if ('status' in guarded) return send(reply, guarded)
      if (route === undefined) return send(reply, notAllowed(allow))
      identities.set(request, guarded.identity)
    },
    async handler(request, reply) {
      const { params, query, body } = request as {
        params: Record<string, string>
        query: Record<string, unknown>
        body: unknown
      }
      const { headers, ip: address } = request
      const route = routeOf(request.method)
      if (route === undefined) return send(reply, notAllowed(allow))
      const unread = [...unreadConditions(route, headers), ...unreadParameters(route, query)]
      if (unread.length > 0) return send(reply, badFields(unread))
      const identity = identities.get(request) ?? null
      const call = { params, query, body, headers, address, identity, signal: untilGone(reply) }
      return send(reply, await route.handle(call))
    },
  })
}

/** Of a route of the API that has none, as one with some refuses those that it does not know: who sends one takes it to be heeded. */
function unreadParameters({ path, doc }: Route, query: object): readonly FieldProblem[] {
  if (doc.query !== undefined || !path.startsWith('/api/')) return []
  const msg = 'unknown parameter: this has none in its query'
  return Object.keys(query).map((name) => ({ path: name, msg }))
}

/** That of Fastify follows the request, which is over when its body was read. */
function untilGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => gone.abort())
  return gone.signal
}

/** Whatever no route has may be a file or a page of the dashboard. */
function addPage(app: FastifyInstance, assets: Assets | null, check: Check): void {
  app.setNotFoundHandler(async (request, reply) => {
    const { method, headers, ip, url } = request
    if (method !== 'GET' && method !== 'HEAD') return send(reply, NOTHING_HERE)
    const guarded = check('page', { method, headers, address: ip })
    if ('status' in guarded) return send(reply, guarded)
    const page = await pageResponse(assets, {
      path: url.split('?', 1)[0] ?? '',
      acceptsHtml: headers.accept?.includes('text/html') === true,
      acceptsGzip: /\bgzip\b/.test(String(headers['accept-encoding'] ?? '')),
    })
    return send(reply, page ?? NOTHING_HERE)
  })
}

const NOTHING_HERE = refusal('not_found', 'There is nothing at this path.')

function notAllowed(allow: string): AdminResponse {
  return refusal('method_not_allowed', `Use one of: ${allow}.`, { allow })
}

function send(reply: FastifyReply, { status, body, contentType, headers = {} }: AdminResponse): FastifyReply {
  reply.status(status).headers({ ...SECURITY_HEADERS, ...headers })
  if (body === undefined) return reply.send()
  if (contentType !== undefined) return reply.type(contentType).send(body)
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body))
}

const CLIENT_ERRORS: Readonly<Record<number, readonly [AdminError, string]>> = {
  413: ['payload_too_large', `The body may have at most ${MAX_BODY} bytes.`],
  415: ['unsupported_media_type', 'Send the body as JSON, with "Content-Type: application/json".'],
}

/** By the code of Fastify's error. */
const CURES: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: 'The path must be UTF-8, percent-encoded.',
  FST_ERR_MAX_PARAM_LENGTH: 'A part of the path is too long: a user id has at most 256 bytes.',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body must have no member "__proto__", and no "prototype" in a "constructor".',
}

/** What Fastify passes over in front of JSON. */
const BYTE_ORDER_MARK = /^\uFEFF/

/** The body is no JSON, or names a member twice; the message says what is wrong at the path. */
class BadBody extends Error {
  readonly path: string
  constructor(path: string, message: string) {
    super(message)
    this.path = path
  }
}

/** The body is compressed: RFC 9110 section 8.4 lets it be refused, and 12.5.3 has the answer say what is taken. */
class CodedBody extends Error {}

function isCoded({ 'content-encoding': coding }: IncomingHttpHeaders): boolean {
  return coding !== undefined && !/^\s*identity\s*$/i.test(coding)
}

const NOT_CODED = refusal('unsupported_media_type', 'Send the body as it is, without "Content-Encoding".', {
  'accept-encoding': 'identity',
})

const OUTCOME_UNKNOWN =
  'The store did not answer in time: the change may have been made. See GET /api/audit, or read again what was to be changed, before you send it once more.'

/** A store that is full or takes no writes still answers: the reason is a word of ours, its own may hold more than is to be told. */
function fateOf({ reason }: StoreError): string {
  return isSilence(reason) ? 'The store does not answer' : `The store does not do this: ${reason}`
}

function responseTo(error: FastifyError, observe: Observer): AdminResponse {
  if (error instanceof StoreError) return refusal('store_unavailable', `${fateOf(error)}. Try again later.`)
  if (error instanceof OutcomeUnknown) return refusal('outcome_unknown', OUTCOME_UNKNOWN)
  if (error instanceof CodedBody) return NOT_CODED
  if (error instanceof BadBody) return badFields([{ path: error.path, msg: error.message }])
  // The client has left: nobody reads it.
  if (error.name === 'AbortError') return NO_CONTENT
  const { statusCode = 500 } = error
  const cure = CURES[error.code]
  if (cure !== undefined) return refusal('bad_request', cure)
  if (statusCode >= 400 && statusCode < 500) {
    return refusal(...(CLIENT_ERRORS[statusCode] ?? (['bad_request', 'The request is not well formed.'] as const)))
  }
  observe({ type: 'internal_error', where: 'admin', error })
  return refusal('internal', 'Something went wrong. The log says more.')
}

/** What cannot be read as a request gets its answer on the bare socket. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  // A failed handshake leaves nobody who could read an answer.
  if (error.code === 'ECONNRESET' || isOfTls(error) || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, body } = connectionResponse(error.code)
  const text = JSON.stringify(body)
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': text.length,
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n'))
}

function isOfTls({ code = '' }: NodeJS.ErrnoException): boolean {
  return code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS')
}

function connectionResponse(code: string | undefined): AdminResponse {
  if (code === 'HPE_HEADER_OVERFLOW') return refusal('headers_too_large', 'The header fields are too long.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refusal('request_timeout', 'The request took too long to arrive.')
  return refusal('bad_request', 'This is not an HTTP request.')
}
