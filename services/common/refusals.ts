import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BadBody, BodyTooLarge } from './body.ts'
import { DatabaseBusy } from './database.ts'
import { pathOf } from './server.ts'

export interface Endpoint {
  readonly method: string
  /** With parameters as in `/songs/:id`. */
  readonly path: string
}

/** The responses of a service if no handler responds, in its own words. */
export interface Refusals<R> {
  readonly notFound: R
  readonly methodNotAllowed: R
  /** Another process has been writing to the same file for too long. */
  readonly busy: R
  readonly tooLarge: R
  /** The body is no JSON. */
  badBody(message: string): R
  /** The request was refused below the routes. */
  unreadable(message: string): R
  readonly internal: R
}

export interface RefusalOptions<R> {
  readonly endpoints: readonly Endpoint[]
  readonly refusals: Refusals<R>
  send(reply: FastifyReply, refusal: R): FastifyReply
  /** Hears of errors that became `internal`. */
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
  // This comes before the body is read. Without a route, neither faults of the body nor a missing type matter.
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

/** Unexpected errors are reported to the operator only. */
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
