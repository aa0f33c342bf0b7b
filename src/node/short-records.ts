import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'
import { householdOf, peerOf } from '../lib/peers.ts'
import { rawSocketOf } from './raw-socket.ts'

/** Short reads that one head may come in, with the line ends before it and what comes behind the last response. */
const MAX_READS = 256
/** Bytes of a read that is not short. Servers that save latency send records of 1.3 KiB. */
const LONG_READ = 1024
/** New keys that a client may announce within the time below. Those that do it at all do it after gigabytes. */
const MAX_KEYS = 8
const KEYS_MS = 1000
/** How long the other connections of such an address are not read, in milliseconds: not all come back in the same turn. */
const [SHORTEST_MS, LONGEST_MS] = [1000, 1500]

export interface RecordRules {
  /** Whether an address stands for many clients, who shall not wait for one of them. */
  readonly isProxy?: (address: string) => boolean
  /** Whether a credential was accepted on a connection: it then waits for no stranger. Default nobody's was. @param raw as the event `connection` gives it */
  readonly isAccepted?: (raw: Socket) => boolean
  /** Called for each connection that is ended. */
  readonly onFlood?: () => void
}

/**
 * Ends a connection by TLS whose records bring nearly nothing: a head of one byte each, line ends without a request, new keys without end.
 *
 * One read of 64 KiB has room for 2800 records of one byte, or for 2400 KeyUpdates of 25 microseconds each, and libuv reads a connection
 * up to 32 times a turn (26.10, OpenSSL 3.5). No request has come by then, so no rule on requests applies. What one read has brought is
 * worked through in any case, which takes up to 33 ms. So the other connections of the address rest, and those of other strangers whose hands
 * are shaken wait for the next turn: theirs would follow in the same one. So each turn has one flood, and users are served in between.
 *
 * Node's parser reads the native socket itself, and calls `_unrefTimer` of the socket for each read. A method of the socket's own hides it.
 * Once somebody listens to the data of the socket, its stream reads, and makes the same call before it takes the record. A socket that is
 * destroyed within it ends the process, so that is done a turn later. What a record has brought is known when the stream has handed it
 * over: one that is paused keeps it. When many wait there, no more is read until the stream goes on.
 *
 * New keys are seen by the event `keylog`, whose secrets are dropped. Bodies and tunnels have rules of their own.
 */
export function boundRecords(
  server: Server,
  { isProxy = () => false, isAccepted = () => false, onFlood = () => {} }: RecordRules,
): void {
  const open = new Map<Socket, Connection>()
  /** Households whose connections rest. */
  const resting = new Set<string>()

  function flood({ address, household }: Connection): void {
    onFlood()
    if (isProxy(address) || resting.has(household)) return
    resting.add(household)
    setTimeout(() => resting.delete(household), SHORTEST_MS).unref()
    const waiting: Connection[] = []
    for (const [raw, other] of open) {
      if (other.household === household) other.rest()
      else if (other.isShaken && !isAccepted(raw)) waiting.push(other)
    }
    for (const other of waiting) other.wait()
    setImmediate(() => {
      for (const other of waiting) other.goOnInTurn()
    })
  }

  server.on('connection', (raw: Socket) => {
    const connection = new Connection(raw, flood)
    open.set(raw, connection)
    raw.once('close', () => open.delete(raw))
    // Node starts to read it behind this event.
    if (resting.has(connection.household)) setImmediate(() => connection.rest())
  })
  server.on('secureConnection', (socket: TLSSocket) => open.get(rawSocketOf(socket))?.watch(socket as Secure))
}

interface Handle {
  readonly reading: boolean
  readStart(): void
  readStop(): void
}

interface Inner {
  readonly _handle: Handle | null
}

interface Secure extends TLSSocket, Inner {
  readonly _handle: Handle | null
  /** It is consumed while the parser reads the native socket, and not any more once the stream does. */
  readonly parser?: { readonly incoming: IncomingMessage | null; readonly _consumed: boolean } | null
  _unrefTimer(): void
}

/** Why a connection is not read: its address rests, another one has filled the turn, many records wait in its stream, or it is ended in the next turn. */
type Stop = 'rest' | 'turn' | 'full' | 'end'

/** A connection from its first byte on. The handle below TLS is stopped; the one above still says that it reads. */
class Connection {
  readonly address: string
  readonly household: string
  readonly #raw: Socket & Inner
  readonly #onFlood: (connection: Connection) => void
  readonly #stops = new Set<Stop>()
  #socket: Secure | null = null
  #bytes = 0
  #reads = 0
  #isByStream = false
  /** Short records that wait in the stream. */
  #waiting = 0
  /** The last request of which the head has come. */
  #request: IncomingMessage | null = null
  #keys = 0
  #keysSince = 0
  /** Ends its rest. */
  #restTimer: NodeJS.Timeout | undefined

  constructor(raw: Socket, onFlood: (connection: Connection) => void) {
    this.#raw = raw as Socket & Inner
    this.#onFlood = onFlood
    this.address = raw.remoteAddress ?? ''
    this.household = householdOf(peerOf(this.address))
  }

  watch(socket: Secure): void {
    this.#socket = socket
    const refresh = socket._unrefTimer
    socket._unrefTimer = () => {
      this.#onRead(socket)
      refresh.call(socket)
    }
    socket.on('resume', () => {
      // What waits goes on behind this event, unless somebody pauses it again.
      if (this.#waiting > 0) setImmediate(() => socket.isPaused() || this.#goOn())
    })
    socket.on('keylog', (line: Buffer) => {
      if (line.includes('CLIENT_TRAFFIC_SECRET_N')) this.#countKey()
    })
  }

  get isShaken(): boolean {
    return this.#socket !== null
  }

  wait(): void {
    this.#stop('turn')
  }

  goOnInTurn(): void {
    this.#start('turn')
  }

  /** One that rests begins anew. */
  rest(): void {
    this.#stop('rest')
    clearTimeout(this.#restTimer)
    const restMs = SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS)
    this.#restTimer = setTimeout(() => this.#start('rest'), restMs).unref()
  }

  #stop(why: Stop): void {
    this.#stops.add(why)
    this.#raw._handle?.readStop()
  }

  #start(why: Stop): void {
    if (!this.#stops.delete(why) || this.#stops.size > 0) return
    if (this.#socket?._handle?.reading !== false) this.#raw._handle?.readStart()
  }

  #goOn(): void {
    this.#waiting = 0
    this.#start('full')
  }

  /** It is called for each write, too, which brings no bytes. */
  #onRead(socket: Secure): void {
    const bytes = socket.bytesRead - this.#bytes
    if (bytes === 0) return
    this.#bytes = socket.bytesRead
    if (socket.parser?._consumed !== false) this.#countRead(socket, bytes)
    else if (!this.#isByStream) this.#readByStream(socket)
    else if (socket.readableLength > 0 && bytes < LONG_READ && ++this.#waiting > MAX_READS) this.#stop('full')
  }

  /** Node's own listener comes first: this one hears of a piece when the parser has had it. */
  #readByStream(socket: Secure): void {
    this.#isByStream = true
    this.#reads = 0
    socket.on('data', (piece: Buffer) => this.#countRead(socket, piece.length))
  }

  /** @param bytes that the parser has just had */
  #countRead({ parser }: Secure, bytes: number): void {
    const request = parser?.incoming ?? null
    const isWithinHead = request === this.#request && (request === null || request.complete)
    this.#request = request
    if (!isWithinHead || parser == null) this.#reads = 0
    else if (bytes < LONG_READ) this.#reads++
    if (this.#reads > MAX_READS) this.#end()
  }

  #countKey(): void {
    const now = performance.now()
    if (now - this.#keysSince > KEYS_MS) {
      this.#keys = 0
      this.#keysSince = now
    }
    if (++this.#keys > MAX_KEYS) this.#end()
  }

  #end(): void {
    if (this.#stops.has('end')) return
    this.#stop('end')
    setImmediate(() => this.#socket?.destroy())
    this.#onFlood(this)
  }
}
