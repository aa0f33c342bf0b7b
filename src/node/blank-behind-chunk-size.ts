import type { Server } from 'node:http'
import type { Socket } from 'node:net'

interface Parser {
  initialize(type: number, resource: object, maxHeaderSize: number, lenient: number, connections: unknown): void
  readonly constructor: { readonly REQUEST: number; readonly kLenientSpacesAfterChunkSize?: number }
}

/**
 * Lets the parser of a new connection take blanks behind a chunk size, as old clients pad it and peers accept it. The size says
 * where the chunk ends all the same.
 *
 * Node's one option for it, `insecureHTTPParser`, takes all other faults too, with them those that smuggle requests. Its parser
 * knows them one by one (26.10, `src/node_http_parser.cc`), so it is set up once more, as Node has just done, before a byte was
 * read. Where a later Node does not have what is needed, such a size is 400 as before: nothing depends on it.
 */
export function takeBlanksBehindChunkSizes(server: Server, socket: Socket): void {
  const { parser } = socket as { parser?: Parser | null }
  const flag = parser?.constructor.kLenientSpacesAfterChunkSize
  const connections = connectionsOf(server)
  if (!parser || flag === undefined || connections === undefined) return
  parser.initialize(
    parser.constructor.REQUEST,
    socket,
    (server as { maxHeaderSize?: number }).maxHeaderSize ?? 0,
    flag,
    connections,
  )
}

/** By which Node ends connections whose heads do not come: the parser has to stay one of them. */
function connectionsOf(server: Server): unknown {
  const name = Object.getOwnPropertySymbols(server).find(({ description }) => description === 'http.server.connections')
  return name === undefined ? undefined : Reflect.get(server, name)
}
