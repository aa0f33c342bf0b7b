import { connect, type Socket } from 'node:net'

/** A process that plays all attackers of a row at once. It gets a plan by a message, and ends at another message or the end of the channel. */

export interface Plan {
  readonly port: number
  /** The addresses of its connections, used in turn. */
  readonly addresses: readonly string[]
  /** Connections that are open at a time. */
  readonly connections: number
  /** The text that each connection sends. Each `{n}` in it becomes eight digits that are never used twice. */
  readonly text: string
  /** Whether responses are read. Default yes. */
  readonly reads?: boolean
  /** Responses after which a connection sends the text again. Default never: it is silent from then on. */
  readonly repeatAfter?: number
  /** Milliseconds at least between two texts of one connection. Default 0. */
  readonly pace?: number
  /** Whether a closed connection is opened anew. Default no. */
  readonly reopens?: boolean
}

/** The totals of an attack. */
export interface Sent {
  /** Bytes that were sent. */
  readonly bytes: number
  readonly opened: number
  readonly responses: number
  /** Connections that the server closed. */
  readonly closed: number
}

/** The most connects at a time. With more the queue of the kernel would lose some, and they would come again a second later. */
const OPENING = 200
/** The most connections that an attack opens in all, so that it cannot run away. */
const MOST_OPENED = 200_000
/** How long a connection that was closed at once waits before it is opened anew, in milliseconds. */
const REOPEN_MS = 100
const BEGUN_WITHIN_MS = 6000
const ENDS_WITHIN_MS = 40_000

const STATUS_LINE = 'HTTP/1.1 '

class Attacker {
  readonly #plan: Plan
  #bytes = 0
  #opened = 0
  #responses = 0
  #closed = 0
  #opening = 0
  #queued: number
  #texts = 0

  constructor(plan: Plan) {
    this.#plan = plan
    this.#queued = plan.connections
  }

  /** @param begun called when each connection is open or refused, after 6 s at the latest */
  begin(begun: () => void): void {
    this.#openQueued()
    const until = Date.now() + BEGUN_WITHIN_MS
    const timer = setInterval(() => {
      if ((this.#queued > 0 || this.#opening > 0) && Date.now() < until) return
      clearInterval(timer)
      begun()
    }, 20)
  }

  sent(): Sent {
    return { bytes: this.#bytes, opened: this.#opened, responses: this.#responses, closed: this.#closed }
  }

  #openQueued(): void {
    while (this.#queued > 0 && this.#opening < OPENING && this.#opened < MOST_OPENED) {
      this.#queued--
      this.#open()
    }
  }

  #open(): void {
    const { port, addresses, reads = true } = this.#plan
    const localAddress = addresses[this.#opened % addresses.length] ?? ''
    this.#opened++
    this.#opening++
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
    let isOpening = true
    const opened = (): void => {
      if (isOpening) this.#opening--
      isOpening = false
      this.#openQueued()
    }
    socket.once('connect', opened).on('error', () => {})
    socket.once('close', () => {
      opened()
      this.#wasClosed()
    })
    if (reads) this.#read(socket)
    else socket.pause()
    this.#send(socket)
  }

  #wasClosed(): void {
    this.#closed++
    if (!this.#plan.reopens) return
    setTimeout(() => {
      this.#queued++
      this.#openQueued()
    }, REOPEN_MS)
  }

  #read(socket: Socket): void {
    const { repeatAfter, pace = 0 } = this.#plan
    let [seen, tail, sentAt] = [0, '', performance.now()]
    const again = (): void => {
      sentAt = performance.now()
      this.#send(socket)
    }
    socket.on('data', (piece) => {
      const text = tail + piece.toString('latin1')
      const found = text.split(STATUS_LINE).length - 1
      tail = text.slice(-(STATUS_LINE.length - 1))
      this.#responses += found
      seen += found
      if (repeatAfter === undefined || seen < repeatAfter) return
      seen = 0
      const wait = sentAt + pace - performance.now()
      if (wait > 0) setTimeout(again, wait)
      else again()
    })
  }

  #send(socket: Socket): void {
    if (socket.destroyed) return
    const text = this.#plan.text.replaceAll('{n}', () => String(++this.#texts).padStart(8, '0'))
    this.#bytes += Buffer.byteLength(text)
    socket.write(text)
  }
}

function main(): void {
  let attacker: Attacker | undefined
  process.on('message', (plan: Plan | 'end') => {
    if (plan === 'end') {
      process.send?.(attacker?.sent(), () => process.exit())
      return
    }
    attacker = new Attacker(plan)
    attacker.begin(() => process.send?.('begun'))
  })
  process.once('disconnect', () => process.exit())
  setTimeout(() => process.exit(1), ENDS_WITHIN_MS)
}

if (import.meta.main) main()
