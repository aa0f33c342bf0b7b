import { once } from 'node:events'
import type net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Certificates, upstreamUrl, type Way } from '../setup/ways.ts'
import { type Field, type Framing, fieldOf, type Head, MessageReader, type MessageSink } from './message-reader.ts'
import { bytesOf, differenceIn, lastEvent } from './pattern.ts'
import type { RequestPlan, ResponsePlan, Turn } from './plan.ts'
import type { Records, RequestRecord } from './records.ts'
import { chunked, cut, isGone, pause } from './wire.ts'

/** An upstream that reads by the letter, and responds as the plan of each request says, byte by byte. */
export interface Upstream {
  readonly url: string
  /** What it sees from now on is written there. */
  records: Records
  close(): void
}

/** The highest bit of a number says that the bytes are those of an upload. */
export const UPLOAD = 0x80000000
/** The status of a handshake that opens a WebSocket. */
export const SWITCHING = 101

export async function startUpstream(certificates: Certificates, way: Way, records: Records): Promise<Upstream> {
  const sockets = new Set<net.Socket>()
  const server = certificates.server(way, (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    const connection = new UpstreamConnection(socket, upstream.records)
    socket.on('error', () => {}).on('data', (bytes: Buffer) => connection.read(bytes))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const upstream: Upstream = {
    url: upstreamUrl(way, server),
    records,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
  return upstream
}

class UpstreamConnection implements MessageSink {
  readonly #socket: net.Socket
  readonly #records: Records
  readonly #reader = new MessageReader(this)
  #current: RequestRecord | null = null
  /** Bytes of its body so far. */
  #received = 0
  #begun = false
  /** Whether the last byte of the response to the current request has been written. */
  #responded = true
  #closing = false

  constructor(socket: net.Socket, records: Records) {
    this.#socket = socket
    this.#records = records
  }

  read(bytes: Buffer): void {
    this.#records.portions++
    if (this.#closing) return
    try {
      this.#reader.push(bytes)
    } catch (error) {
      this.#records.report(`what came to the upstream is no request: ${(error as Error).message}`, this.#current)
      this.#end('reset')
    }
  }

  onHead({ line, fields }: Head): Framing {
    const [method, target = ''] = line.split(' ')
    const record = this.#records.requests.get(Number(/^\/[rs]\/(\d+)$/.exec(target)?.[1]))
    if (record === undefined) throw new Error(`nobody asked for ${line}`)
    const { plan } = record
    if (!this.#responded) throw new Error(`request ${plan.id} came before the response to another was at its end`)
    if (method !== plan.method) throw new Error(`${line} should be ${plan.method}`)
    const user = fieldOf(fields, 'x-tollgate-user')
    if (user !== plan.user) throw new Error(`request ${plan.id} is one of ${plan.user} and came as ${user}`)
    record.heads++
    this.#current = record
    this.#received = 0
    this.#begun = false
    this.#responded = false
    this.#pauseFor(plan.response.readsAfterMs)
    if (plan.turns === null) return framingOf(fields)
    if (fieldOf(fields, 'upgrade') !== 'websocket') throw new Error(`handshake ${plan.id} came without Upgrade`)
    void this.#open(plan)
    return 'until the end of the connection'
  }

  onBody(piece: Buffer): void {
    const { plan } = this.#current as RequestRecord
    const difference = differenceIn(plan.id + UPLOAD, this.#received, piece, this.#records.isKnown)
    if (difference !== null) this.#records.report(`of an upload ${difference}`, this.#current)
    this.#received += piece.length
    this.#records.bytes += piece.length
    if (plan.turns !== null) {
      this.#answer(plan, plan.turns)
      return
    }
    const { readFirst } = plan.response
    if (readFirst < 1 && this.#received >= readFirst * (plan.upload?.size ?? 0)) this.#begin()
  }

  onEnd(trailers: readonly Field[]): void {
    const record = this.#current as RequestRecord
    if (trailers.length > 0) this.#records.report('trailers of a request came to the upstream', record)
    const expected = record.plan.upload?.size ?? 0
    if (this.#received !== expected) {
      this.#records.report(`the upload ended after ${this.#received} of ${expected} bytes`, record)
    }
    this.#begin()
  }

  async #open({ id, response }: RequestPlan): Promise<void> {
    await sleep(response.delayMs)
    const fields = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${ACCEPT}`
    this.#socket.write(`HTTP/1.1 101 x\r\nX-Response-To: ${id}\r\n${fields}\r\n\r\n`)
  }

  /** Behind a whole turn of the client comes its own, and behind the last one the end. */
  #answer({ id, response }: RequestPlan, turns: readonly Turn[]): void {
    let [up, down] = [0, 0]
    for (const [i, turn] of turns.entries()) {
      up += turn.up
      if (up === this.#received) void this.#say(bytesOf(id, down, turn.down), response, i === turns.length - 1)
      down += turn.down
    }
    if (this.#received > up) throw new Error(`behind a WebSocket came ${this.#received} of ${up} bytes`)
  }

  async #say(message: Buffer, { cutting }: ResponsePlan, isLast: boolean): Promise<void> {
    for (const piece of cut(message, 0, cutting)) {
      if (isGone(this.#socket)) return
      this.#socket.write(piece)
      await pause(cutting)
    }
    if (isLast) this.#end('close')
  }

  #pauseFor(ms: number): void {
    if (ms === 0) return
    this.#socket.pause()
    setTimeout(() => this.#socket.resume(), ms)
  }

  #begin(): void {
    if (this.#begun) return
    this.#begun = true
    void this.#respond((this.#current as RequestRecord).plan)
  }

  async #respond(plan: RequestPlan): Promise<void> {
    const { response } = plan
    await sleep(response.delayMs)
    if (response.fault === 'reset') return this.#end('reset')
    for (const status of response.interim) {
      if (!isGone(this.#socket)) this.#socket.write(interim(status, plan.id))
    }
    const { head, body } = responseOf(plan)
    const message = Buffer.concat([head, body])
    const writes = cut(message, head.length, response.cutting)
    const broken = response.fault === 'break' ? head.length + Math.floor(body.length / 2) : Number.POSITIVE_INFINITY
    for (let i = 0, at = 0; i < writes.length && at < broken; i++) {
      const piece = writes[i] as Buffer
      if (isGone(this.#socket)) return
      // The next request may come before `write` returns to us.
      if (i === writes.length - 1 && broken > message.length) this.#finish(plan)
      this.#socket.write(piece.subarray(0, broken - at))
      at += piece.length
      if (i < writes.length - 1) await pause(response.cutting)
    }
    if (broken < message.length) this.#end('close')
    else if (closes(plan)) this.#end('close')
    else if (response.after === 'close while idle') setTimeout(() => this.#endIfIdle(), response.delayMs % 30)
  }

  #finish(plan: RequestPlan): void {
    if (closes(plan)) this.#closing = true
    else this.#responded = true
  }

  #endIfIdle(): void {
    if (this.#responded && this.#reader.between) this.#end('close')
  }

  #end(how: 'close' | 'reset'): void {
    this.#closing = true
    if (how === 'close') this.#socket.end()
    else this.#socket.destroy()
  }
}

/** For the key of RFC 6455, 1.3. */
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='

function framingOf(fields: readonly Field[]): Framing {
  const [length, coding] = [fieldOf(fields, 'content-length'), fieldOf(fields, 'transfer-encoding')]
  if (length !== undefined && coding !== undefined) throw new Error('two ways to find the end of the body')
  if (coding !== undefined && coding !== 'chunked') throw new Error(`the coding is ${coding}`)
  return coding === undefined ? { length: Number(length ?? 0) } : 'chunked'
}

/** Whether the connection ends with the response, told or not. */
function closes({ response: { after, framing } }: RequestPlan): boolean {
  return after === 'close' || after === 'close unannounced' || framing.endsWith('close') || framing.startsWith('1.0')
}

/** Whether a response to that request has a body, whatever its head says. */
export function hasBody({ method, response: { status } }: RequestPlan): boolean {
  return method !== 'HEAD' && status !== 204 && status !== 304
}

function interim(status: number, id: number): string {
  return status === 103
    ? `HTTP/1.1 103 Early Hints\r\nLink: </${id}>; rel=preload\r\n\r\n`
    : `HTTP/1.1 ${status} x\r\n\r\n`
}

function responseOf(plan: RequestPlan): { head: Buffer; body: Buffer } {
  const { id, response } = plan
  const { status, size, says, framing, chunks, after } = response
  const withBody = hasBody(plan)
  const end = lastEvent(says)
  const plain = withBody ? Buffer.concat([bytesOf(id, 0, size - end.length), end]) : Buffer.alloc(0)
  const lines = [`HTTP/${framing.startsWith('1.0') ? '1.0' : '1.1'} ${status} x`, `X-Response-To: ${id}`]
  if (says !== null) lines.push('Content-Type: text/event-stream')
  if (framing.endsWith('length') && status !== 204) lines.push(`Content-Length: ${size}`)
  if (framing === 'chunked' && status !== 204 && status !== 304) lines.push('Transfer-Encoding: chunked')
  if (framing === 'chunked' && chunks.trailers) lines.push('Trailer: X-Trailer-Of')
  if (after === 'close' || framing === 'close') lines.push('Connection: close')
  const body = framing === 'chunked' && withBody ? chunked(plain, chunks, id) : plain
  return { head: Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body }
}
