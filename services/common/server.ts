import { STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { patientClose } from '../../src/lib/closing.ts'
import type { Address } from './address.ts'
import { parseBody, readBody } from './body.ts'

export interface HttpOptions {
  /** Largest request body, in bytes. */
  readonly bodyLimit: number
  /** Names of fields of a body whose numbers come out as their source text; see parseBody. Default: none. */
  readonly exact?: ReadonlySet<string>
  /** The body for a request that cannot be read: it is no HTTP, has no valid URL, comes too slowly or has too large a head. */
  readonly unreadable: (what: string) => object
}

/** The base of every bundled service. The service adds routes, hooks and errors. */
export interface Http {
  readonly app: FastifyInstance
  /** @throws Error if the address cannot be bound */
  listen(address: Address): Promise<{ url: string }>
  /** Lets running requests finish, for 2 seconds at most. */
  close(): Promise<void>
}

/** A request's head and body must arrive within this time. */
const REQUEST_TIMEOUT_MS = 60_000
/** More than Node accepts as the head of a request. */
const MAX_PARAM_LENGTH = 65_536

/** A server for JSON only. Bodies that are too large or no JSON reach the error handler as BodyTooLarge and BadBody. */
export function createHttp({ bodyLimit, exact = new Set(), unreadable }: HttpOptions): Http {
  const app = fastify({
    // A request on a connection that is kept alive still gets its response while closing: the database is closed
    // afterwards.
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Otherwise a parameter of 101 characters would be refused before the credential is checked.
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    frameworkErrors: (_error, _request, reply: FastifyReply) => reply.code(400).send(unreadable('malformed URL')),
    clientErrorHandler: ({ code }, socket) => {
      const [status, what] = UNREADABLE[code] ?? [400, 'not a valid HTTP request']
      refuseConnection(socket, status, unreadable(what))
    },
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (_request: FastifyRequest, stream: FastifyRequest['raw']) =>
    hasBody(stream) ? parseBody(await readBody(stream, bodyLimit), exact) : undefined,
  )
  return {
    app,
    async listen({ host, port }) {
      await app.listen({ host, port })
      const { address, port: bound, family } = app.server.address() as AddressInfo
      return { url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}` }
    },
    close: patientClose(app.server, () => app.close()),
  }
}

/** A Content-Type alone announces no body (RFC 9112, 6), and some clients send it with requests that have none. */
function hasBody({ headers }: FastifyRequest['raw']): boolean {
  return (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined
}

/** By the code of Node's error. */
const UNREADABLE: Readonly<Record<string, readonly [status: number, what: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, `the request did not arrive within ${REQUEST_TIMEOUT_MS / 1000} s`],
  HPE_HEADER_OVERFLOW: [431, 'the head of the request is too large'],
}

/** A request that Node cannot read never reaches a handler, so this response is written by hand. */
function refuseConnection(socket: Socket, status: number, content: object): void {
  if (!socket.writable) return void socket.destroy()
  const body = JSON.stringify(content)
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, 'Content-Type: application/json', 'Connection: close']
  const response = [...head, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n')
  socket.end(response, () => socket.destroy())
}

/** The path of a request, without its query. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? ''
}
