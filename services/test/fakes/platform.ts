import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { listening } from '../../../test/setup/listening.ts'

/** What the two fakes have in common: a real server that keeps what it was sent and can be told to misbehave. */

export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Settled when the connection is gone, whoever ended it. */
  readonly gone: Promise<void>
}

/** Answers instead of the platform, or does not. */
export type Trouble = (request: IncomingMessage, response: ServerResponse, seen: Seen) => void

export interface Fake {
  /** Below which the platform's paths lie. */
  readonly url: string
  readonly requests: Seen[]
  /** Holds for every request until it is taken away; a list is used up one by one, `null` in it is good behaviour. */
  trouble: Trouble | null | (Trouble | null)[]
  /** Called when a request has been read and before it is answered. */
  meanwhile: (seen: Seen) => unknown
  close(): Promise<void>
}

export type Platform = (seen: Seen) => { status: number; body: unknown }

export async function startFake(base: string, platform: Platform): Promise<Fake> {
  const server = createServer(async (request, response) => {
    const gone = new Promise<void>((resolve) => request.socket.once('close', () => resolve()))
    request.on('error', () => {})
    response.on('error', () => {})
    const seen = { ...headOf(request), body: await bodyOf(request), gone }
    fake.requests.push(seen)
    await fake.meanwhile(seen)
    const trouble = Array.isArray(fake.trouble) ? (fake.trouble.shift() ?? null) : fake.trouble
    if (trouble !== null) return trouble(request, response, seen)
    const { status, body } = platform(seen)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const type = typeof body === 'string' ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8'
    return response.writeHead(status, { 'content-type': type }).end(text)
  })
  await listening(server)
  const fake: Fake = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
    requests: [],
    trouble: null,
    meanwhile: () => {},
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return fake
}

function headOf({ method = '', url: path = '', headers }: IncomingMessage) {
  return { method, path, headers }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const json = { 'content-type': 'application/json' }

/** Ways to misbehave. */
export const troubles = {
  response(status: number, body: unknown, headers: Record<string, string> = {}): Trouble {
    return (_request, response) => response.writeHead(status, { ...json, ...headers }).end(JSON.stringify(body))
  },
  html(status = 200): Trouble {
    const page = '<!doctype html><title>Just a moment...</title><p>Checking your browser</p>'
    return (_request, response) => response.writeHead(status, { 'content-type': 'text/html' }).end(page)
  },
  redirect(location: string, status = 302): Trouble {
    return (_request, response) => response.writeHead(status, { location }).end()
  },
  /** Nothing at all comes. */
  slowHead: (() => {}) as Trouble,
  /** The head and the first bytes come, and then nothing. */
  slowBody: ((_request, response) => {
    response.writeHead(200, json).write('{"success": true, ')
  }) as Trouble,
  /** There is always one more byte, so the connection is never idle. */
  drip: ((request, response) => {
    response.writeHead(200, json)
    const timer = setInterval(() => response.write(' '), 20)
    request.socket.once('close', () => clearInterval(timer))
  }) as Trouble,
  /** A good answer of any size, without an end. */
  huge: ((request, response) => {
    response.writeHead(200, json)
    const more = () => {
      while (!request.socket.destroyed && response.write(' '.repeat(64 * 1024)));
    }
    response.on('drain', more)
    more()
  }) as Trouble,
  reset: ((request) => request.socket.resetAndDestroy()) as Trouble,
  /** The connection breaks within the body. */
  cutOff: ((request, response) => {
    response.writeHead(200, { ...json, 'content-length': 1000 })
    response.write('{"success"', () => request.socket.destroy())
  }) as Trouble,
  notHttp: ((request) => request.socket.end('SMTP 220 ready\r\n\r\n')) as Trouble,
}

/** A song as far as the platforms know it. */
export interface Song {
  readonly musicId: number
  readonly title: string
  readonly levels: readonly number[]
}

/** The songs of the bundled catalogue. */
export function bundledSongs(): Song[] {
  const file = fileURLToPath(new URL('../../../config/score/catalogue.json', import.meta.url))
  const { songs }: { songs: { musicId: number; title: string; charts: { level: number }[] }[] } = JSON.parse(
    readFileSync(file, 'utf8'),
  )
  return songs.map(({ musicId, title, charts }) => ({ musicId, title, levels: charts.map(({ level }) => level) }))
}
