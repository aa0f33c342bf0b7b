import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Refusals, responseRefusals } from '../common/refusals.ts'
import { secretCheck } from '../common/secrets.ts'
import { createHttp, type Http, pathOf } from '../common/server.ts'
import type { Backend } from './backend.ts'
import { bodyOf, ERRORS, isRefusal, type Refusal, refuse } from './errors.ts'
import { userFrom } from './identity.ts'
import { ROUTES, type Route } from './routes.ts'

/** The record of one request, made when its response is ready and before it is sent. */
export interface AccessRecord {
  readonly method: string
  /** The path without the query. */
  readonly path: string
  readonly user: string | null
  readonly status: number
}

export interface ServerOptions {
  readonly backend: Backend
  readonly backendSecret: string
  readonly onRequest?: (record: AccessRecord) => void
  /** Called with each error that led to a 500. */
  readonly onError: (error: unknown) => void
}

/** Largest request body, in bytes. */
const BODY_LIMIT = 1024 * 1024
/** Fields that hold an achievement. They are read as text, since a double would round them. */
const EXACT = new Set(['achievement', 'acc'])

export function createServer({ backend, backendSecret, onRequest, onError }: ServerOptions): Http {
  const http = createHttp({
    bodyLimit: BODY_LIMIT,
    exact: EXACT,
    unreadable: (what) => bodyOf(refuse('invalid_request', what)),
  })
  const { app } = http
  admit(app, secretCheck(backendSecret))
  for (const route of ROUTES) addRoute(app, route, backend)
  responseRefusals(app, { endpoints: ROUTES, refusals: REFUSALS, send, onError })
  if (onRequest !== undefined) recordAccess(app, onRequest)
  return http
}

/** Refuses strangers before their body is read. Only the gateway learns whether a path exists. */
function admit(app: FastifyInstance, isSecret: ReturnType<typeof secretCheck>): void {
  app.decorateRequest('user', '')
  app.addHook('onRequest', async (request, reply) => {
    const access = routeOf(request)?.access ?? 'gateway'
    const user = userFrom(request.headers['x-tollgate-user'])
    if (access !== 'open' && !isSecret(request.headers['x-backend-secret'])) {
      return send(reply, refuse('unauthorized', 'this service answers the gateway only'))
    }
    if (access === 'user' && user === null) return send(reply, refuse('unauthorized', 'no valid X-Tollgate-User'))
    request.setDecorator('user', user ?? '')
  })
}

function routeOf(request: FastifyRequest): Route | undefined {
  return ROUTES.find(({ path }) => path === request.routeOptions.url)
}

function addRoute(app: FastifyInstance, { method, path, handle }: Route, backend: Backend): void {
  app.route({
    method,
    url: path,
    handler: async (request, reply) => {
      const user = request.getDecorator<string>('user')
      const key = request.headers['idempotency-key']?.toString()
      const body = request.body === undefined ? {} : request.body
      const response = await handle(backend, { user, body, key, signal: leaving(reply) })
      return isRefusal(response) ? send(reply, response) : response
    },
  })
}

/** Aborted when the client leaves. Fastify's own signal follows the request, which may end once its body has been read. */
function leaving(reply: FastifyReply): AbortSignal {
  const left = new AbortController()
  reply.raw.once('close', () => reply.raw.writableFinished || left.abort())
  return left.signal
}

function send(reply: FastifyReply, refusal: Refusal): FastifyReply {
  // RFC 9110, 15.5.2; the scheme is our own, named after the header that carries the secret.
  if (refusal.refused === 'unauthorized') reply.header('www-authenticate', 'X-Backend-Secret')
  if (refusal.retryAfter !== undefined) reply.header('retry-after', refusal.retryAfter)
  return reply.code(ERRORS[refusal.refused].status).send(bodyOf(refusal))
}

const REFUSALS: Refusals<Refusal> = {
  notFound: refuse('not_found', 'no such endpoint'),
  methodNotAllowed: refuse('method_not_allowed', 'this endpoint does not know that method'),
  busy: refuse('account_busy', 'another write of this account is in progress; try again later'),
  tooLarge: refuse('payload_too_large', 'the body is larger than 1 MiB'),
  badBody: (message) => refuse('invalid_request', message),
  unreadable: (message) => refuse('invalid_request', message),
  internal: refuse('internal', 'Internal error.'),
}

/** The record is made before the response is sent, so that a client which has the response can rely on the record. */
function recordAccess(app: FastifyInstance, onRequest: (record: AccessRecord) => void): void {
  app.addHook('onSend', async (request, reply) => {
    const user = userFrom(request.headers['x-tollgate-user'])
    onRequest({ method: request.method, path: pathOf(request), user, status: reply.statusCode })
  })
}
