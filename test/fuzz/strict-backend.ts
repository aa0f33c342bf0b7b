import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type net from 'node:net'
import { type Certificates, upstreamUrl, type Way } from '../setup/ways.ts'
import { readRequest, type StrictRequest } from './strict-reader.ts'

/** An upstream that reads by the letter: what the gateway sends it must be beyond doubt. */
export interface StrictUpstream {
  readonly url: string
  /** The requests that came whole since the last `reset`. */
  readonly requests: StrictRequest[]
  /** What came and was no HTTP/1.1. */
  readonly violations: string[]
  /** Heads that came since the last `reset`, of whole requests and of others. */
  heads(): number
  reset(): void
  close(): void
}

interface Connection {
  readonly socket: net.Socket
  text: string
  /** Whether the head of what is not yet whole has been counted. */
  counted: boolean
  tunnel: boolean
}

export async function startStrictUpstream(certificates: Certificates, way: Way): Promise<StrictUpstream> {
  const requests: StrictRequest[] = []
  const violations: string[] = []
  const connections = new Set<Connection>()
  let heads = 0

  const server = certificates.server(way, (socket) => {
    const connection: Connection = { socket, text: '', counted: false, tunnel: false }
    connections.add(connection)
    socket.on('close', () => connections.delete(connection))
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      connection.text += chunk.toString('latin1')
      read(connection)
    })
  })

  function read(connection: Connection): void {
    while (!connection.tunnel && connection.text !== '') {
      const reading = readRequest(connection.text)
      if (reading.kind === 'violation') {
        violations.push(reading.why)
        connection.socket.destroy()
        return
      }
      if (!connection.counted && (reading.kind === 'request' || reading.head)) {
        connection.counted = true
        heads++
      }
      if (reading.kind === 'incomplete') return
      connection.text = connection.text.slice(reading.end)
      connection.counted = false
      requests.push(reading.request)
      response(connection, reading.request)
    }
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: upstreamUrl(way, server),
    requests,
    violations,
    heads: () => heads,
    reset: () => {
      requests.length = 0
      violations.length = 0
      heads = 0
    },
    close: () => {
      for (const { socket } of connections) socket.destroy()
      server.close()
    },
  }
}

function response(connection: Connection, { method, fields }: StrictRequest): void {
  const of = (wanted: string): string | undefined => fields.find(([name]) => name === wanted)?.[1]
  if (of('upgrade') !== undefined) {
    connection.tunnel = true
    const accept = createHash('sha1')
      .update(`${of('sec-websocket-key')}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    connection.socket.write(
      `HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    return
  }
  connection.socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${method === 'HEAD' ? '' : 'ok'}`)
}
