import { METHODS, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { TokenStore } from '../control/tokens.ts'
import type { FailureStore } from '../failures/histogram.ts'
import type { Observer } from '../observe/observation.ts'
import { StoreError } from '../quota/store.ts'
import { type AdminError, type Answer, type Route, refusal, SECURITY_HEADERS } from './answer.ts'
import { failureRoutes } from './failures.ts'
import { createGuard } from './guard.ts'
import { createLogin } from './login.ts'
import { type ProbeOptions, probeRoutes } from './probes.ts'
import { tokenRoutes } from './tokens.ts'

export interface AdminOptions extends ProbeOptions {
  /** Port 0 for any free one. */
  readonly listen: { readonly host: string; readonly port: number }
  /** For /api; `null` answers 403 there. */
  readonly token: string | null
  /** More names that the Host header may carry, in lower case. Address literals, localhost and `listen.host` always may. */
  readonly hosts?: readonly string[]
  readonly failures: FailureStore['readTallies']
  readonly tokens: TokenStore
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Is told of errors that should never happen. */
  readonly observe?: Observer
}

export interface Admin {
  /** @throws Error when the address cannot be had */
  listen(): Promise<{ url: string }>
  /** Lets requests under way finish, and closes idle connections. */
  close(): Promise<void>
}

type Check = ReturnType<typeof createGuard>

const MAX_BODY = 64 * 1024
/** For a whole request to arrive, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000

/** The listener for operators: probes, metrics and the JSON API. Never reachable through the gateway. */
export function createAdmin(options: AdminOptions): Admin {
  const { listen, token, hosts = [], now, observe = () => {} } = options
  const check = createGuard(createLogin({ token, now }), [listen.host.toLowerCase(), ...hosts])
  const app = createServer(observe)
  const routes = [...probeRoutes(options), ...failureRoutes(options.failures), ...tokenRoutes(options.tokens, now)]
  for (const [path, methods] of Map.groupBy(routes, (route) => route.path)) addPath(app, path, methods, check)
  return {
    listen: async () => ({ url: await app.listen({ host: listen.host, port: listen.port }) }),
    close: () => app.close(),
  }
}

function createServer(observe: Observer): FastifyInstance {
  const onError = (error: FastifyError, _request: FastifyRequest, reply: FastifyReply) =>
    send(reply, answerTo(error, observe))
  const app: FastifyInstance = fastify({
    bodyLimit: MAX_BODY,
    requestTimeout: REQUEST_TIMEOUT_MS,
    frameworkErrors: onError,
    clientErrorHandler: refuseConnection,
  })
  // Fastify knows a dozen methods; for the others a known path would be "not found".
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  // Without it a form of any page could send a body of text/plain that parses as JSON.
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler(onError)
  app.setNotFoundHandler((_request, reply) => send(reply, refusal('not_found', 'There is nothing at this path.')))
  return app
}

/** One path with all its methods. Whether a request may go on is settled before its body is read. */
function addPath(app: FastifyInstance, path: string, routes: readonly Route[], check: Check): void {
  const routeOf = (method: string) => routes.find((route) => route.method === (method === 'HEAD' ? 'GET' : method))
  const allow = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
  const guard = routes[0]?.guard ?? 'token'
  app.route({
    method: app.supportedMethods,
    url: path,
    async onRequest(request, reply) {
      const denied = check(guard, request.headers, request.ip)
      if (denied !== null) return send(reply, denied)
      if (routeOf(request.method) === undefined) return send(reply, notAllowed(allow))
    },
    async handler(request, reply) {
      const { params, query, body } = request as {
        params: Record<string, string>
        query: Record<string, unknown>
        body: unknown
      }
      return send(reply, (await routeOf(request.method)?.handle({ params, query, body })) ?? notAllowed(allow))
    },
  })
}

function notAllowed(allow: string): Answer {
  return refusal('method_not_allowed', `Use one of: ${allow}.`, { allow })
}

function send(reply: FastifyReply, { status, body, contentType, headers = {} }: Answer): FastifyReply {
  reply.status(status).headers({ ...SECURITY_HEADERS, ...headers })
  if (body === undefined) return reply.send()
  if (contentType !== undefined) return reply.type(contentType).send(body)
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body))
}

const CLIENT_ERRORS: Readonly<Record<number, readonly [AdminError, string]>> = {
  413: ['payload_too_large', `The body may have at most ${MAX_BODY} bytes.`],
  415: ['unsupported_media_type', 'Send the body as JSON, with "Content-Type: application/json".'],
}

function answerTo(error: FastifyError, observe: Observer): Answer {
  if (error instanceof StoreError) return refusal('store_unavailable', 'The store does not answer. Try again later.')
  const { statusCode = 500 } = error
  if (statusCode >= 400 && statusCode < 500) {
    return refusal(...(CLIENT_ERRORS[statusCode] ?? (['bad_request', 'The request is not well formed.'] as const)))
  }
  observe({ type: 'internal_error', where: 'admin', error })
  return refusal('internal', 'Something went wrong. The log says more.')
}

/** What cannot be read as a request gets its answer on the bare socket. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, body } = connectionAnswer(error.code)
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

function connectionAnswer(code: string | undefined): Answer {
  if (code === 'HPE_HEADER_OVERFLOW') return refusal('headers_too_large', 'The header fields are too long.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refusal('request_timeout', 'The request took too long to arrive.')
  return refusal('bad_request', 'This is not an HTTP request.')
}
