import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import express5 from 'express'
import { atEnd } from '../setup/at-end.ts'

/** What the services of the guides have of Express. */
interface Application extends http.RequestListener {
  set(setting: 'trust proxy', value: string): void
  use(handler: (req: Request, res: Response, next: () => void) => void): void
  get(path: string, handler: (req: Request, res: Response) => void): void
  post(path: string, handler: (req: Request, res: Response) => void): void
}
interface Request extends http.IncomingMessage {
  readonly protocol: string
  readonly hostname: string
  readonly originalUrl: string
  readonly ip: string
  get(name: string): string | undefined
}
interface Response extends http.ServerResponse {
  json(body: unknown): void
  redirect(status: number, url: string): void
}

/** What it says of a request to `/v1/items`. */
export interface Items {
  readonly user: string | null
  /** The URL that it believes to have. */
  readonly url: string
  readonly ip: string
  readonly headers: http.IncomingHttpHeaders
}

export interface Service {
  readonly port: number
  stop(): Promise<void>
}

/**
 * An API in Express, as the guides want it behind the gateway.
 * @param user the header in which it is told who asks
 * @param refuses whom it refuses by itself
 */
export async function startService(
  user = 'X-Tollgate-User',
  express: () => http.RequestListener = express5,
  refuses: (headers: http.IncomingHttpHeaders) => boolean = () => false,
): Promise<Service> {
  const app = express() as Application
  app.set('trust proxy', 'loopback')
  app.use((req, res, next) => (refuses(req.headers) ? res.writeHead(401).end('no such key') : next()))
  app.get('/v1/items', (req, res) => {
    const url = `${req.protocol}://${req.hostname}${req.originalUrl}`
    res.json({ user: req.get(user) ?? null, url, ip: req.ip, headers: req.headers } satisfies Items)
  })
  app.get('/v1/old', (req, res) => res.redirect(301, `${req.protocol}://${req.hostname}/v1/items`))
  app.post('/v1/charge', (_req, res) => res.end('charged'))
  const server = http.createServer(app).listen(0, '127.0.0.1')
  return started(server)
}

/** A server that was told to listen, once it does. */
export async function started(server: http.Server): Promise<Service> {
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    stop: atEnd(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }),
  }
}

/** Spellings of the dear path that Express takes for it, in the order of the question. */
export const EXPRESS_SPELLINGS = ['/v1/CHARGE', '/V1/charge', '/v1/charge/', '/v1/CHARGE/', '/v1/charge?a=b']
