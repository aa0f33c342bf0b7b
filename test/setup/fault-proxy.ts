import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { atEnd } from './at-end.ts'

/**
 * Stands between a client and a server on the loopback and breaks what passes. TCP never loses a piece in the middle,
 * so whatever is dropped takes its connection with it.
 */
export interface FaultProxy {
  readonly port: number
  /** How many requests and replies were dropped so far. */
  readonly dropped: number
  /** How many connections were made so far. */
  readonly connections: number
  /** The next request is swallowed and its connection reset. */
  dropRequest(options?: Match): void
  /** The next request reaches the server; its reply is swallowed and the connection reset. */
  dropReply(options?: Match): void
  /** The next request reaches the server; of its reply that many bytes pass, and then the connection is closed. */
  cutReply(bytes: number, options?: Match & { readonly by?: 'reset' | 'fin' }): void
  /** Holds every piece back for this long, and up to `jitterMs` longer, in both directions. */
  delay(ms: number, jitterMs?: number): void
  /** Lets that many bytes of each connection pass in a second and direction. */
  throttle(bytesPerSecond: number): void
  /** Connections are accepted and stay open, and nothing passes until `heal`. */
  blackhole(): void
  /** The server forgets the connections there are and the client does not hear of it; new ones work. */
  halfOpen(): void
  /** Connections are not even accepted: the client's packets are lost. Those that exist are reset. */
  hangConnects(): Promise<void>
  /** Connections are refused. Those that exist are reset. */
  refuseConnects(): Promise<void>
  /** Every new connection is reset as soon as it is made. */
  resetConnects(): void
  /** Lets everything pass again, first what was held back. */
  heal(): Promise<void>
  /** Resets every connection. */
  reset(): void
  /** Ends every connection in order, as a server that stops does. */
  fin(): void
  close(): Promise<void>
}

/** Of what is sent: only a piece that contains this text counts as the next request. */
export interface Match {
  readonly containing?: string
}

interface Armed {
  readonly what: 'request' | 'reply'
  readonly containing: string
  /** Bytes of the reply that pass. */
  readonly bytes: number
  readonly by: 'reset' | 'fin'
}

interface Pair {
  readonly client: net.Socket
  readonly server: net.Socket
  readonly up: Lane
  readonly down: Lane
  /** What happens to the reply that comes next. */
  cut: { left: number; readonly by: 'reset' | 'fin' } | null
  deaf: boolean
}

/** What the proxy does to every piece, now. */
interface Toxics {
  delayMs: number
  jitterMs: number
  /** 0: any number. */
  bytesPerSecond: number
  holding: boolean
}

const HEALTHY: Toxics = { delayMs: 0, jitterMs: 0, bytesPerSecond: 0, holding: false }
/** A slow line passes what is due in steps of this length. */
const STEP_MS = 100

export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const pairs = new Set<Pair>()
  let toxics = { ...HEALTHY }
  let armed: Armed | null = null
  let resetting = false
  let dropped = 0
  let connections = 0
  let tarpit: ChildProcess | null = null

  const listener = net.createServer({ allowHalfOpen: true }, (client) => {
    connections++
    client.on('error', () => {})
    if (resetting) client.resetAndDestroy()
    else join(client)
  })

  function join(client: net.Socket): void {
    const server = net.connect({ port: target, host: '127.0.0.1', allowHalfOpen: true })
    const pair: Pair = {
      client,
      server,
      up: new Lane(server, () => toxics),
      down: new Lane(client, () => toxics),
      cut: null,
      deaf: false,
    }
    pairs.add(pair)
    client.on('data', (chunk: Buffer) => onRequest(pair, chunk)).on('end', () => pair.up.end())
    server.on('data', (chunk: Buffer) => onReply(pair, chunk)).on('end', () => pair.deaf || pair.down.end())
    server.on('error', () => {})
    client.on('close', () => cut(pair))
    server.on('close', (hadError) => {
      if (pair.deaf) return
      // An orderly end was passed on already, behind what was still on its way.
      if (hadError || !server.readableEnded) cut(pair)
    })
  }

  function onRequest(pair: Pair, chunk: Buffer): void {
    if (pair.deaf) return
    if (armed !== null && chunk.includes(armed.containing)) {
      const { what, bytes, by } = armed
      armed = null
      if (what === 'request') {
        drop(pair)
        return
      }
      pair.cut = { left: bytes, by }
    }
    pair.up.push(chunk)
  }

  function onReply(pair: Pair, chunk: Buffer): void {
    if (pair.deaf) return
    if (pair.cut === null) {
      pair.down.push(chunk)
      return
    }
    const { left, by } = pair.cut
    if (chunk.length <= left) {
      pair.cut.left -= chunk.length
      pair.down.push(chunk)
      return
    }
    if (left === 0 && by === 'reset') {
      drop(pair)
      return
    }
    dropped++
    // What passes shall arrive: a reset at once would overtake it.
    pairs.delete(pair)
    const over = (): void => {
      if (by === 'reset') setTimeout(() => pair.client.resetAndDestroy(), 20)
      else pair.client.end(() => pair.client.destroy())
      pair.server.destroy()
    }
    if (left === 0) over()
    else pair.client.write(chunk.subarray(0, left), over)
  }

  function drop(pair: Pair): void {
    dropped++
    cut(pair)
  }

  function cut(pair: Pair): void {
    if (!pairs.delete(pair)) return
    pair.up.drop()
    pair.down.drop()
    pair.client.resetAndDestroy()
    pair.server.destroy()
  }

  function cutAll(): void {
    for (const pair of pairs) cut(pair)
  }

  function flush(): void {
    for (const pair of pairs) {
      pair.up.flush()
      pair.down.flush()
    }
  }

  async function listen(port: number): Promise<void> {
    listener.listen(port, '127.0.0.1')
    await once(listener, 'listening')
  }

  async function stopListening(): Promise<void> {
    if (!listener.listening) return
    const closed = once(listener, 'close')
    listener.close()
    cutAll()
    await closed
  }

  await listen(0)
  const { port } = listener.address() as net.AddressInfo
  return {
    port,
    get dropped() {
      return dropped
    },
    get connections() {
      return connections
    },
    dropRequest: ({ containing = '' } = {}) => {
      armed = { what: 'request', containing, bytes: 0, by: 'reset' }
    },
    dropReply: ({ containing = '' } = {}) => {
      armed = { what: 'reply', containing, bytes: 0, by: 'reset' }
    },
    cutReply: (bytes, { containing = '', by = 'reset' } = {}) => {
      armed = { what: 'reply', containing, bytes, by }
    },
    delay: (ms, jitterMs = 0) => {
      toxics = { ...HEALTHY, delayMs: ms, jitterMs }
    },
    throttle: (bytesPerSecond) => {
      toxics = { ...HEALTHY, bytesPerSecond }
    },
    blackhole: () => {
      toxics = { ...HEALTHY, holding: true }
    },
    halfOpen: () => {
      for (const pair of pairs) {
        pair.deaf = true
        pair.up.drop()
        pair.down.drop()
        pair.server.destroy()
      }
    },
    hangConnects: async () => {
      await stopListening()
      tarpit ??= await startTarpit(port)
    },
    refuseConnects: stopListening,
    resetConnects: () => {
      resetting = true
      cutAll()
    },
    heal: async () => {
      armed = null
      resetting = false
      toxics = { ...HEALTHY }
      flush()
      await stopTarpit()
      if (!listener.listening) await listen(port)
    },
    reset: cutAll,
    fin: () => {
      for (const { client, server } of pairs) {
        client.end()
        server.end()
      }
    },
    close: atEnd(async () => {
      await stopTarpit()
      await stopListening()
    }),
  }

  async function stopTarpit(): Promise<void> {
    const process = tarpit
    tarpit = null
    if (process === null) return
    process.kill('SIGKILL')
    await once(process, 'exit')
  }
}

/** One direction of a connection: its pieces leave in order, and not before their time. */
class Lane {
  readonly #to: net.Socket
  readonly #toxics: () => Toxics
  #queue: { readonly chunk: Buffer; readonly dueAt: number }[] = []
  #lastDue = 0
  #timer: NodeJS.Timeout | null = null
  #ended = false

  constructor(to: net.Socket, toxics: () => Toxics) {
    this.#to = to
    this.#toxics = toxics
  }

  push(chunk: Buffer): void {
    const { delayMs, jitterMs } = this.#toxics()
    const dueAt = Math.max(this.#lastDue, performance.now() + delayMs + Math.random() * jitterMs)
    this.#lastDue = dueAt
    this.#queue.push({ chunk, dueAt })
    this.#pump()
  }

  /** The end follows what is still on its way. */
  end(): void {
    this.#ended = true
    this.#pump()
  }

  flush(): void {
    this.#stop()
    this.#lastDue = 0
    for (const { chunk } of this.#queue.splice(0)) this.#write(chunk)
    if (this.#ended) this.#to.end()
  }

  drop(): void {
    this.#stop()
    this.#queue = []
  }

  #pump(): void {
    if (this.#timer !== null) return
    const { holding, bytesPerSecond } = this.#toxics()
    if (holding) return
    if (bytesPerSecond > 0) {
      if (this.#queue.length > 0) this.#trickle(bytesPerSecond)
    } else {
      this.#passDue()
    }
    if (this.#ended && this.#queue.length === 0) this.#to.end()
  }

  #passDue(): void {
    const now = performance.now()
    while (this.#queue[0] !== undefined && this.#queue[0].dueAt <= now) this.#write(this.#queue.shift()?.chunk)
    if (this.#queue[0] !== undefined) this.#later(this.#queue[0].dueAt - now)
  }

  #trickle(bytesPerSecond: number): void {
    const [head] = this.#queue.splice(0, 1)
    if (head === undefined) return
    const bytes = Math.max(1, Math.floor((bytesPerSecond * STEP_MS) / 1000))
    this.#write(head.chunk.subarray(0, bytes))
    if (head.chunk.length > bytes) this.#queue.unshift({ ...head, chunk: head.chunk.subarray(bytes) })
    this.#later(Math.max(STEP_MS, (bytes / bytesPerSecond) * 1000))
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#pump()
    }, ms)
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #write(chunk: Buffer | undefined): void {
    if (chunk !== undefined && this.#to.writable) this.#to.write(chunk)
  }
}

/**
 * A listener whose queue is full and that accepts nothing: Linux drops what else would connect, as a host does that is
 * gone. It must be a stopped process, since Node accepts on its own.
 */
async function startTarpit(port: number): Promise<ChildProcess> {
  const program = `require('net').createServer().listen({port:${port},host:'127.0.0.1',backlog:1},()=>process.stdout.write('.'))`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  child.kill('SIGSTOP')
  await sleep(50)
  const fillers = Array.from({ length: 4 }, () => net.connect(port, '127.0.0.1').on('error', () => {}))
  child.once('exit', () => {
    for (const socket of fillers) socket.destroy()
  })
  // Not waited for by their events: others that want to connect may have taken the places.
  await sleep(50)
  return child
}
