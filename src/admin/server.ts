import type { IncomingMessage, ServerResponse } from 'node:http'
import tls from 'node:tls'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Certificate } from '../lib/tls.ts'
import { FloodRests } from '../node/flood-rests.ts'
import { lookForLateRequestsTogether } from '../node/late-requests.ts'
import { boundRecords } from '../node/short-records.ts'
import type { Observer } from '../observe/observation.ts'
import { boundConnections } from './connections.ts'
import { refuseConnection, responseTo } from './error-response.ts'
import { type AdminResponse, JSON_TYPE, refusal, SECURITY_HEADERS } from './http.ts'
import { MAX_BODY, readJsonBodies } from './json-body.ts'

/** How long a whole request may take to arrive, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000
/**
 * Options with which Node's server must be created, because Fastify sets the first only when the server exists. With its default of 60 s for
 * a head Node would give a whole request 60 s too, and it would look for late requests only every 30 s (26.10).
 */
const SERVER_TIMEOUTS = {
  requestTimeout: REQUEST_TIMEOUT_MS,
  headersTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: 1000,
}
/** How long an idle connection is kept, in milliseconds. A probe comes every few seconds, and a browser opens a new one. */
const KEEP_ALIVE_MS = 5000
/** A method that stands for every method without a route. Fastify reads no body for it. */
const OTHER_METHOD = 'TRACE'
/** The methods of each route. They are few, because Fastify has a table of all routes for each method, which is most of a listener's cost. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', OTHER_METHOD]
/** The most characters of a parameter in a path: a user id of 256 bytes, all percent-encoded. */
const MAX_PARAM = 3 * 256

const FULL = refusal(
  'overloaded',
  'As many connections have a request under way as may be: only /livez, /readyz and requests with an admin token or a session are served.',
  { 'retry-after': '1' },
)

/**
 * A server without routes.
 * @param certificate `null` for requests without TLS
 * @param isUrgent whether to serve a request when all connections have one under way
 */
export function createServer(
  certificate: Certificate | null,
  isUrgent: (request: FastifyRequest) => boolean,
  observe: Observer,
): FastifyInstance {
  const onError = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
    send(reply, responseTo(error, request.routeOptions.bodyLimit ?? MAX_BODY, observe))
  const app: FastifyInstance = fastify({
    bodyLimit: MAX_BODY,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    routerOptions: { maxParamLength: MAX_PARAM },
    frameworkErrors: onError,
    clientErrorHandler: refuseConnection,
    // Otherwise an unfinished handshake would hold its connection for two minutes.
    ...(certificate === null
      ? { http: SERVER_TIMEOUTS }
      : { https: { ...SERVER_TIMEOUTS, ...certificate.current(), handshakeTimeout: REQUEST_TIMEOUT_MS } }),
  }) as FastifyInstance
  const { server } = app
  const connections = boundConnections(server)
  app.addHook('onRequest', async (request, reply) => {
    if (connections.isLate(request.raw) && !isUrgent(request)) return send(reply, FULL)
  })
  lookForLateRequestsTogether(server, SERVER_TIMEOUTS.connectionsCheckingInterval)
  server.prependListener('request', closeBehindUpgrade)
  server.prependListener('request', (request: IncomingMessage) => {
    if (!METHODS.includes(request.method ?? '')) request.method = OTHER_METHOD
  })
  if (server instanceof tls.Server) {
    certificate?.onChange(() => server.setSecureContext(certificate.current()))
    const onFlood = () => observe({ type: 'bad_connection', code: 'short_records', status: 0 })
    boundRecords(server, new FloodRests(server, {}, true), onFlood)
  }
  readJsonBodies(app)
  app.setErrorHandler(onError)
  return app
}

/** Routes validate with their own schemas. Those of Fastify would load compilers at each start. */
function noCompiler(): never {
  throw new Error('a route has a schema of Fastify')
}

/**
 * A request that asks for an upgrade is served as a plain one, and is the last of its connection. Node throws away what
 * came after it in the same packet, so the next data may begin in the middle of a message (26.10).
 */
function closeBehindUpgrade({ headers }: IncomingMessage, res: ServerResponse): void {
  if (headers.upgrade !== undefined) res.shouldKeepAlive = false
}

export function send(reply: FastifyReply, { status, body, contentType, headers = {} }: AdminResponse): FastifyReply {
  reply.status(status).headers({ ...SECURITY_HEADERS, ...headers })
  if (body === undefined) return reply.send()
  if (contentType !== undefined) return reply.type(contentType).send(body)
  return reply.type(JSON_TYPE).send(JSON.stringify(body))
}
