import { createHash } from 'node:crypto'
import net from 'node:net'
import { listening } from '../setup/listening.ts'
import { type Certificates, upstreamUrl, WAYS, type Way } from '../setup/ways.ts'

/** An upstream on bare TCP: it logs every request line that arrives, also one that a proper server would never see. */
export interface RawUpstream {
  readonly url: string
  /** In the order in which the requests were complete. */
  readonly lines: string[]
  /** All that arrived, in pieces, of all connections. */
  readonly received: string[]
}

const PLAIN = WAYS[0] as Way
const plainServer = (_way: Way, onConnection: (socket: net.Socket) => void): net.Server =>
  net.createServer(onConnection)

/** Answers 200 to every complete request, and 101 to a WebSocket handshake. @param server as `Certificates.server` */
export async function startRawUpstream(
  createServer: Certificates['server'] = plainServer,
  way = PLAIN,
): Promise<RawUpstream> {
  const lines: string[] = []
  const received: string[] = []
  const server = createServer(way, (socket) => {
    socket.on('error', () => {})
    let text = ''
    socket.on('data', (chunk) => {
      const piece = chunk.toString('latin1')
      received.push(piece)
      text += piece
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, end)
        const body = bodyLength(head, text.slice(end + 4))
        if (body === null) return
        lines.push(...head.split('\r\n').filter((line) => /^[A-Z]+ \S+ HTTP\//.test(line)))
        text = text.slice(end + 4 + body)
        socket.write(responseTo(head))
      }
    })
  })
  await listening(server)
  return { url: upstreamUrl(way, server), lines, received }
}

function responseTo(head: string): string {
  const key = /^upgrade: websocket$/im.test(head) ? /^sec-websocket-key: (.*)$/im.exec(head)?.[1] : undefined
  if (key === undefined) return `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${head.startsWith('HEAD ') ? '' : 'ok'}`
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  return `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`
}

/** Bytes of the body after a head, or `null` while it is not complete. */
function bodyLength(head: string, rest: string): number | null {
  const length = /^content-length: (\d+)$/im.exec(head)
  if (length !== null) return rest.length >= Number(length[1]) ? Number(length[1]) : null
  if (!/^transfer-encoding: chunked$/im.test(head)) return 0
  const end = /(?:^|\r\n)0\r\n\r\n/.exec(rest)
  return end === null ? null : end.index + end[0].length
}
