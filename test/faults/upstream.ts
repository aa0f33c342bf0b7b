import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'

/**
 * An upstream whose log is the truth that charges are held against. It notes a request as soon as it sees its head, so
 * that one which is broken off afterwards counts as well.
 */
export interface LoggingUpstream {
  readonly port: number
  readonly seen: readonly SeenRequest[]
  /** What it saw of one category. */
  of(category: string): SeenRequest[]
  close(): Promise<void>
}

/** A request to `/CATEGORY/ID`. */
export interface SeenRequest {
  readonly id: string
  readonly category: string
  readonly user: string
  readonly headers: http.IncomingHttpHeaders
}

type Respond = (seen: SeenRequest, req: http.IncomingMessage, res: http.ServerResponse) => void

const ok: Respond = (_seen, req, res) => {
  req.resume()
  res.end('ok')
}

export async function startLoggingUpstream(respond: Respond = ok): Promise<LoggingUpstream> {
  const seen: SeenRequest[] = []
  const server = http.createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
    const [, category = '', id = ''] = (req.url ?? '').split('/')
    const entry = { id, category, user: String(req.headers['x-tollgate-user']), headers: req.headers }
    seen.push(entry)
    respond(entry, req, res)
  })
  await listening(server)
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    of: (category) => seen.filter((entry) => entry.category === category),
    close: atEnd(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }),
  }
}
