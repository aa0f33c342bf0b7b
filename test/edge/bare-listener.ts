import { once } from 'node:events'
import { connect } from 'node:net'
import type { IncomingRequest } from '../../src/edge/connection.ts'
import { createListener } from '../../src/edge/listener.ts'
import { createShares, type ShareRules, THINGS } from '../../src/edge/shares.ts'
import { nameRules } from '../../src/inputs/inputs.ts'
import { atEnd } from '../setup/at-end.ts'

const NO_BOUNDS = { address: null, network: null, user: null, strangers: null, total: null }
const shares = Object.fromEntries(THINGS.map((thing) => [thing, NO_BOUNDS])) as ShareRules

export interface Sent {
  /** Of the response. */
  readonly text: string
  /** What came as far as the gateway. */
  readonly requests: readonly IncomingRequest[]
  /** Why the connection itself refused what came. */
  readonly denials: readonly (string | null)[]
}

/** Sends a head on a new connection of a real listener behind which nothing is but a response, and waits for that. */
export async function sent(head: string): Promise<Sent> {
  const requests: IncomingRequest[] = []
  const denials: (string | null)[] = []
  const gateway = {
    handle: (request: IncomingRequest) => {
      requests.push(request)
      request.res.end('ok')
      request.client.served(request)
    },
    handleUpgrade: () => {},
    inFlight: () => 0,
  }
  const listener = createListener({
    listen: { host: '127.0.0.1', port: 0 },
    certificate: null,
    gateway,
    observe: (each) => {
      if (each.type === 'bad_connection') denials.push(each.refused?.reason ?? null)
    },
    shares: createShares(),
    maxHeaderSize: 16 * 1024,
    headersTimeoutMs: 10_000,
    keepAliveTimeoutMs: 10_000,
    idleTimeoutMs: 10_000,
    maxConnections: 10,
    limits: () => ({
      shares,
      isProxy: () => false,
      readsProxyProtocol: false,
      uploads: { minBytesPerSecond: 0, graceMs: 1000 } as never,
      maxUrl: 8192,
      answersHalfClosed: false,
      names: nameRules({}, []),
      presentation: null,
    }),
  })
  const { hostname, port } = new URL(await listener.start())
  atEnd(() => listener.stop(0))
  const socket = connect(Number(port), hostname).on('error', () => {})
  atEnd(() => socket.destroy())
  socket.write(head)
  const [bytes] = await once(socket, 'data')
  return { text: String(bytes), requests, denials }
}
