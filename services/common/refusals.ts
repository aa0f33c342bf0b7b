import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BadBody, BodyTooLarge } from './body.ts'
import { DatabaseBusy } from './database.ts'
import { pathOf } from './server.ts'

export interface Endpoint {
  readonly method: string
  /** The path, with parameters written as in `/songs/:id`. */
  readonly path: string
}

/** The responses that a service gives, in its own words, where no handler has made one. */
export interface Refusals<R> {
  readonly notFound: R
  readonly methodNotAllowed: R
  /** Another process has been writing to the same file for too long. */
  readonly busy: R
  readonly tooLarge: R
  /** The body was cut off, is not valid JSON, or has another Content-Type. */
  badBody(message: string): R
  /** Fastify refused the request with a 4xx before a route handled it. */
  unreadable(message: string): R
  readonly internal: R
}

export interface RefusalOptions<R> {
  readonly endpoints: readonly Endpoint[]
  readonly refusals: Refusals<R>
  send(reply: FastifyReply, refusal: R): FastifyReply
  /** Called with each error to which the service responds with `internal`. */
  onError(error: unknown): void
}

/** Responds to requests without a route, and to those that fail. */
export function responseRefusals<R>(app: FastifyInstance, options: RefusalOptions<R>): void {
  const { endpoints, refusals, send } = options
  const known = endpoints.map(({ method, path }) => ({ method, pattern: patternOf(path) }))
  const refuseStray = (request: FastifyRequest, reply: FastifyReply) => {
    const methods = known.filter(({ pattern }) => pattern.test(pathOf(request))).map(({ method }) => method)
    if (methods.length === 0) return send(reply, refusals.notFound)
    return send(reply.header('allow', allowed(methods)), refusals.methodNotAllowed)
  }
  // This hook runs before the body is read, so a request without a route is refused for that, whatever its body is.
  app.addHook('onRequest', async (request, reply) => (request.is404 ? refuseStray(request, reply) : undefined))
  app.setNotFoundHandler(refuseStray)
  app.setErrorHandler((error, _request, reply) => send(reply, refusalFor(error, options)))
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`)
}

function allowed(methods: readonly string[]): string {
  return methods.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')
}

/** The refusal for an error. What an unexpected error says is reported to the operator only. */
function refusalFor<R>(error: unknown, { refusals, onError }: RefusalOptions<R>): R {
  if (error instanceof DatabaseBusy) return refusals.busy
  if (error instanceof BodyTooLarge) return refusals.tooLarge
  if (error instanceof BadBody) return refusals.badBody(error.message)
  const { statusCode, code } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return refusals.badBody('Content-Type must be application/json')
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return refusals.unreadable('the request could not be read')
  }
  onError(error)
  return refusals.internal
}
