import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { onDemand } from '../../src/lib/memo.ts'
import { allowCors } from '../common/cors.ts'
import { type Refusals, responseRefusals } from '../common/refusals.ts'
import { secretCheck } from '../common/secrets.ts'
import { createHttp, type Http, pathOf } from '../common/server.ts'
import { isRefusal, type Refusal, refuse, statusOf } from './errors.ts'
import { describeApi } from './openapi.ts'
import { type Access, type Desk, ROUTES, type Route, type ServiceResponse } from './routes.ts'

export interface ServerOptions {
  readonly desk: Desk
  readonly adminSecret: string
  /** Origins whose pages may call the API. */
  readonly allowedOrigins: readonly string[]
  /** Called with each error that led to a 500. */
  readonly onError: (error: unknown) => void
}

/** Largest request body, in bytes: it only holds a name. */
const BODY_LIMIT = 16 * 1024
const OPENAPI = '/openapi.json'

export function createServer({ desk, adminSecret, allowedOrigins, onError }: ServerOptions): Http {
  const http = createHttp({ bodyLimit: BODY_LIMIT, unreadable: (what) => ({ message: what }) })
  const { app } = http
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('x-content-type-options', 'nosniff')
  })
  allowCors(app, {
    origins: allowedOrigins,
    headers: ['Authorization', 'Content-Type', 'If-None-Match'],
    open: [OPENAPI],
  })
  admit(app, desk, secretCheck(adminSecret))
  for (const route of ROUTES) addRoute(app, route, desk)
  const document = onDemand(async () => describeApi())
  app.get(OPENAPI, () => document())
  const endpoints = [...ROUTES, { method: 'GET', path: OPENAPI }]
  responseRefusals(app, { endpoints, refusals: REFUSALS, send: refuseWith, onError })
  return http
}

/** Refuses strangers before their body is read. The response is the same for every kind of wrong credential. */
function admit(app: FastifyInstance, { keys }: Desk, isAdminSecret: ReturnType<typeof secretCheck>): void {
  app.addHook('onRequest', async (request, reply) => {
    const access = accessOf(request)
    if (access === 'open') return
    const shown = bearerOf(request.headers.authorization)
    // Both are checked each time, so that the time of a refusal says nothing about the credential.
    const isAdmin = isAdminSecret(shown)
    const isKey = await keys.isKey(shown)
    if (!(access === 'admin' ? isAdmin : isKey)) return refuseWith(reply, refuse('unauthorized'))
  })
}

/** The access of the route that was found. A path without a route is as open as its neighbours. */
function accessOf(request: FastifyRequest): Access {
  const { url } = request.routeOptions
  const route = ROUTES.find(({ path }) => path === url)
  if (route !== undefined) return route.access
  if (url === OPENAPI) return 'open'
  return pathOf(request).startsWith('/api/v1/api-keys') ? 'admin' : pathOf(request).startsWith('/api/') ? 'key' : 'open'
}

const BEARER = /^Bearer +(\S+)$/i

/** The token; empty if there is none. */
function bearerOf(authorization: string | undefined): string {
  return BEARER.exec(authorization ?? '')?.[1] ?? ''
}

function addRoute(app: FastifyInstance, { method, path, handle }: Route, desk: Desk): void {
  app.route({
    method,
    url: path,
    handler: async (request, reply) => {
      const response = await handle(desk, {
        params: request.params as Record<string, string>,
        query: request.query as Record<string, unknown>,
        body: request.body,
        ifNoneMatch: request.headers['if-none-match'],
      })
      return isRefusal(response) ? refuseWith(reply, response) : send(reply, response)
    },
  })
}

function send(reply: FastifyReply, { status = 200, headers = {}, body }: ServiceResponse): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}

function refuseWith(reply: FastifyReply, refusal: Refusal): FastifyReply {
  if (refusal.refused === 'unauthorized') reply.header('www-authenticate', 'Bearer')
  return reply.code(statusOf(refusal)).send({ message: refusal.message })
}

const REFUSALS: Refusals<Refusal> = {
  notFound: refuse('not_found'),
  methodNotAllowed: refuse('method_not_allowed'),
  busy: refuse('busy'),
  tooLarge: refuse('payload_too_large'),
  badBody: (message) => refuse('invalid_request', message),
  unreadable: (message) => refuse('invalid_request', message),
  internal: refuse('internal'),
}
