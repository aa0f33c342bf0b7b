import http from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { type Service, started } from './service.ts'

/** What a service got. */
export interface Got {
  readonly method: string
  readonly url: string
  readonly user: string | null
  /** `X-Try` of the request. */
  readonly mark: string
  readonly authorization: string | undefined
}

/** A service that takes every request, and keeps what it got. Below `/ws/` it opens a WebSocket and sends back what comes. */
export interface Recorder extends Service {
  readonly got: readonly Got[]
}

export async function startRecorder(): Promise<Recorder> {
  const got: Got[] = []
  const record = ({ method = '', url = '', headers }: http.IncomingMessage) => {
    const [user, mark] = [headers['x-tollgate-user'], headers['x-try']].map((value) => value?.toString() ?? null)
    got.push({ method, url, user: user ?? null, mark: mark ?? '', authorization: headers.authorization })
  }
  const options = {
    ...{ maxHeaderSize: 1 << 20, requireHostHeader: false },
    shouldUpgradeCallback: ({ url = '' }: http.IncomingMessage) => url.startsWith('/ws/'),
  }
  const server = http.createServer(options, (req, res) => {
    record(req)
    req.resume()
    res.end('ok')
  })
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (req: http.IncomingMessage, socket: Duplex, first: Buffer) => {
    record(req)
    sockets.handleUpgrade(req, socket, first, (opened) => opened.on('message', (data) => opened.send(data)))
  })
  server.on('connect', (req: http.IncomingMessage, socket: Duplex) => {
    record(req)
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  })
  return { ...(await started(server.listen(0, '127.0.0.1'))), got }
}
