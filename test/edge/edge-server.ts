import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkEdge, checkUpgrade } from '../../src/edge/head-rules.ts'
import { type Denial, STATUS_OF } from '../../src/errors.ts'
import { nameRules } from '../../src/inputs/inputs.ts'
import { prepareParser } from '../../src/node/ignored-upgrade.ts'
import { silence } from '../e2e/raw.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'

/** What came of the bytes that were sent on one connection. */
export interface Sent {
  /** The requests that the rules let pass and whose body arrived whole; `UPGRADE /path` for a tunnel. */
  readonly accepted: readonly { readonly line: string; readonly body: string }[]
  /** The statuses of the answers, interim ones left out. */
  readonly statuses: readonly number[]
  readonly response: string
  /** Whether the server closed the connection. */
  readonly closed: boolean
}

export interface TestEdge {
  /**
   * Sends bytes (latin1) on a new connection, a second part a little later, and waits for as many answers as come.
   * A request for `/slow` is still under way when the second part arrives.
   */
  send(text: string, later?: string): Promise<Sent>
  stop(): Promise<void>
}

/** Of a configuration that decides by no field of its own. */
export const NAMES = nameRules({}, [])

/** A real server that does nothing but ask the edge rules, on every way in. */
export async function startEdge(options: ServerOptions = {}): Promise<TestEdge> {
  /** Connections from which no further request is taken. */
  const ended = new WeakSet<Socket>()
  let accepted: { line: string; body: string }[] = []

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (ended.has(req.socket)) return
    const refused = checkEdge(req, NAMES)
    if (refused !== null) ended.add(req.socket)
    if (refused !== null) {
      res.writeHead(STATUS_OF[refused.code], refused.headers ?? {}).end(bodyOf(refused))
      return
    }
    if (req.headers.expect !== undefined) res.writeContinue()
    try {
      const body = Buffer.concat(await req.toArray()).toString()
      accepted.push({ line: `${req.method} ${req.url}`, body })
      if (req.url === '/slow') await sleep(5 * PAUSE_MS)
      res.end('ok')
    } catch {
      // The body broke off: Node has answered 400 and closed the connection.
    }
  }

  function tunnel(req: IncomingMessage, socket: Duplex): void {
    const refused = checkUpgrade(req, NAMES)
    if (refused === null) accepted.push({ line: `UPGRADE ${req.url}`, body: '' })
    const status = refused === null ? 101 : STATUS_OF[refused.code]
    const headers = Object.entries(refused?.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status} x\r\n${headers.join('')}\r\n${refused === null ? '' : bodyOf(refused)}`)
  }

  const server = createServer({ insecureHTTPParser: false, requireHostHeader: true, ...options })
  server.on('connection', prepareParser)
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, handle)
  server.on('connect', tunnel)
  if (options.shouldUpgradeCallback !== undefined) server.on('upgrade', tunnel)
  const port = await listening(server)

  return {
    async send(text, later = '') {
      accepted = []
      const { response, closed } = await exchange(port, text, later)
      const statuses = [...response.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
      return { accepted, response, closed, statuses: statuses.filter((status) => status !== 100) }
    },
    stop: atEnd(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }),
  }
}

function bodyOf({ code, msg }: Denial): string {
  return JSON.stringify({ error: code, msg })
}

/** Between the two parts of what is sent. */
const PAUSE_MS = 20

/** A connection that has been silent for this long, once an answer was there, is taken for kept alive. */
const SILENCE_MS = 120

async function exchange(port: number, text: string, later: string): Promise<{ response: string; closed: boolean }> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  let response = ''
  let closed = false
  socket.on('data', (data) => {
    response += data
  })
  socket.on('end', () => {
    closed = true
    socket.destroy()
  })
  socket.on('error', () => {
    closed = true
  })
  socket.write(text, 'latin1')
  if (later !== '') setTimeout(() => socket.write(later, 'latin1'), PAUSE_MS)
  await silence(socket, SILENCE_MS)
  socket.destroy()
  return { response, closed }
}
