import { once } from 'node:events'
import net from 'node:net'

/**
 * Stands between a client and a server on the loopback and breaks what passes. TCP never loses a piece in the middle,
 * so whatever is dropped takes its connection with it.
 */
export interface FaultProxy {
  readonly port: number
  /** How many requests and replies were dropped so far. */
  readonly dropped: number
  /** The next request is swallowed and its connection reset. */
  dropRequest(): void
  /** The next request reaches the server; its reply is swallowed and the connection reset. */
  dropReply(): void
  /** Holds every piece back for this long, in both directions. */
  delay(ms: number): void
  /** Connections are accepted and stay open, and nothing passes until `heal`. */
  blackhole(): void
  /** Lets everything pass again, first what was held back. */
  heal(): void
  /** Resets every connection. */
  reset(): void
  close(): Promise<void>
}

interface Pair {
  readonly client: net.Socket
  readonly server: net.Socket
  swallowReply: boolean
}

export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const pairs = new Set<Pair>()
  let armed: 'request' | 'reply' | null = null
  let delayMs = 0
  let holding = false
  let held: (() => void)[] = []
  let dropped = 0

  const listener = net.createServer((client) => {
    const server = net.connect(target, '127.0.0.1')
    const pair: Pair = { client, server, swallowReply: false }
    pairs.add(pair)
    client.on('data', (chunk: Buffer) => onRequest(pair, chunk)).on('error', () => {})
    server.on('data', (chunk: Buffer) => onReply(pair, chunk)).on('error', () => {})
    for (const socket of [client, server]) socket.on('close', () => cut(pair))
  })

  function onRequest(pair: Pair, chunk: Buffer): void {
    if (armed === 'request') {
      armed = null
      drop(pair)
      return
    }
    if (armed === 'reply') {
      armed = null
      pair.swallowReply = true
    }
    pass(pair.server, chunk)
  }

  function onReply(pair: Pair, chunk: Buffer): void {
    if (pair.swallowReply) drop(pair)
    else pass(pair.client, chunk)
  }

  function pass(to: net.Socket, chunk: Buffer): void {
    const write = (): void => {
      if (to.writable) to.write(chunk)
    }
    if (holding) held.push(write)
    else if (delayMs > 0) setTimeout(write, delayMs)
    else write()
  }

  function drop(pair: Pair): void {
    dropped++
    cut(pair)
  }

  function cut(pair: Pair): void {
    if (!pairs.delete(pair)) return
    pair.client.resetAndDestroy()
    pair.server.destroy()
  }

  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    port: (listener.address() as net.AddressInfo).port,
    get dropped() {
      return dropped
    },
    dropRequest: () => {
      armed = 'request'
    },
    dropReply: () => {
      armed = 'reply'
    },
    delay: (ms) => {
      delayMs = ms
    },
    blackhole: () => {
      holding = true
    },
    heal: () => {
      armed = null
      delayMs = 0
      holding = false
      for (const write of held.splice(0)) write()
      held = []
    },
    reset: () => {
      for (const pair of pairs) cut(pair)
    },
    close: async () => {
      listener.close()
      for (const pair of pairs) cut(pair)
      await once(listener, 'close')
    },
  }
}
