import type { FastifyInstance } from 'fastify'
import { pathOf } from './server.ts'

export interface CorsOptions {
  /** Origins whose pages may call the service from a browser, for example `http://127.0.0.1:8080`. */
  readonly origins: readonly string[]
  /** Headers that such a page may send. */
  readonly headers: readonly string[]
  /** Paths that the page of any origin may read: their contents are public. */
  readonly open: readonly string[]
}

const MAX_AGE_S = 600

/**
 * Admits pages of other origins by the protocol of browsers (https://fetch.spec.whatwg.org/#http-cors-protocol).
 * Cookies are never allowed: a page can only send the credential that it was given, in a header.
 */
export function allowCors(app: FastifyInstance, { origins, headers, open }: CorsOptions): void {
  app.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers
    const isOpen = open.includes(pathOf(request))
    // An open path has the same header for everybody, so every page may read a response that a cache has kept.
    if (isOpen) reply.header('access-control-allow-origin', '*')
    else reply.header('vary', 'Origin')
    if (origin === undefined || !(isOpen || origins.includes(origin))) return
    if (!isOpen) reply.header('access-control-allow-origin', origin)
    reply.header('access-control-expose-headers', 'Retry-After, ETag')
    const asked = request.headers['access-control-request-method']
    if (request.method !== 'OPTIONS' || asked === undefined) return
    reply.header('access-control-allow-methods', asked)
    reply.header('access-control-allow-headers', headers.join(', '))
    reply.header('access-control-max-age', MAX_AGE_S)
    return reply.code(204).send()
  })
}
