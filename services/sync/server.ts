import type { FastifyInstance, FastifyReply } from 'fastify'
import { onDemand } from '../../src/lib/memo.ts'
import { allowCors } from '../common/cors.ts'
import { type Refusals, responseRefusals } from '../common/refusals.ts'
import { secretCheck } from '../common/secrets.ts'
import { createHttp, type Http } from '../common/server.ts'
import type { Backend } from './backend.ts'
import { isRefusal, malformedBody, NO_TOKEN, type Refusal, refuse, UPLOADING } from './errors.ts'
import { DOCUMENT_PATH, describeApi } from './openapi.ts'
import { ROUTES, type Route } from './routes.ts'

export interface ServerOptions {
  readonly backend: Backend
  readonly botTokens: readonly string[]
  readonly allowedOrigins: readonly string[]
  /** Called with each error that led to a 500. */
  readonly onError: (error: unknown) => void
}

/** Largest request body, in bytes. */
const BODY_LIMIT = 8 * 1024 * 1024

export function createServer({ backend, botTokens, allowedOrigins, onError }: ServerOptions): Http {
  const http = createHttp({ bodyLimit: BODY_LIMIT, unreadable: (what) => refuse(400, what).body })
  const { app } = http
  // CORS comes before the check of the credential, because the preflight request of a browser carries none.
  allowCors(app, { origins: allowedOrigins, headers: ['Bot-Token', 'Content-Type'], open: [DOCUMENT_PATH] })
  admit(app, anyOf(botTokens))
  const document = onDemand(async () => describeApi())
  app.get(DOCUMENT_PATH, () => document())
  for (const route of ROUTES) addRoute(app, route, backend)
  const endpoints = [...ROUTES, { method: 'GET', path: DOCUMENT_PATH }]
  responseRefusals(app, { endpoints, refusals: REFUSALS, send, onError })
  return http
}

type SecretCheck = ReturnType<typeof secretCheck>

/** Every token is compared, so that the time does not show which of them matched. */
function anyOf(secrets: readonly string[]): SecretCheck {
  const checks = secrets.map(secretCheck)
  return (sent) => checks.map((check) => check(sent)).includes(true)
}

/** Refuses strangers before their body is read. They do not learn which paths exist. */
function admit(app: FastifyInstance, isToken: SecretCheck): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url === DOCUMENT_PATH || isToken(request.headers['bot-token'])) return
    return send(reply, NO_TOKEN)
  })
}

function addRoute(app: FastifyInstance, { method, path, handle }: Route, backend: Backend): void {
  app.route({
    method,
    url: path,
    handler: async (request, reply) => {
      const { params, query, body } = request as { params: Params; query: Params; body: unknown }
      const response = await handle(backend, { params, query, body })
      return isRefusal(response) ? send(reply, response) : response
    },
  })
}

type Params = Record<string, unknown>

function send(reply: FastifyReply, refusal: Refusal): FastifyReply {
  if (refusal.refused === 401) reply.header('www-authenticate', 'Bot-Token')
  if (refusal.retryAfter !== undefined) reply.header('retry-after', refusal.retryAfter)
  return reply.code(refusal.refused).send(refusal.body)
}

const REFUSALS: Refusals<Refusal> = {
  notFound: refuse(404, 'Not Found'),
  methodNotAllowed: refuse(405, 'Method Not Allowed'),
  busy: UPLOADING,
  tooLarge: refuse(413, 'the body is larger than 8 MiB'),
  badBody: malformedBody,
  unreadable: (message) => refuse(400, message),
  internal: refuse(500, 'Internal Server Error'),
}
