import type net from 'node:net'
import { jwtOf } from '../e2e/jwt.ts'
import { connectTo } from '../setup/ways.ts'
import { type Field, type Framing, fieldOf, type Head, MessageReader, type MessageSink } from './message-reader.ts'
import { bytesOf, differenceIn, lastEvent } from './pattern.ts'
import type { RequestPlan, SessionPlan, Turn } from './plan.ts'
import type { Records, RequestRecord, SessionRecord } from './records.ts'
import { hasBody, SWITCHING, UPLOAD } from './upstream.ts'
import { chunked, cut, isGone, pause } from './wire.ts'

/** One connection of a client: it sends what its plan says, and looks at every byte that comes. */
export class Client implements MessageSink {
  readonly #plan: SessionPlan
  readonly #records: Records
  readonly #session: SessionRecord
  readonly #socket: net.Socket
  readonly #reader = new MessageReader(this)
  readonly #pauses: SessionPlan['pauses'][number][]
  /** Those whose responses are to come, in their order. */
  #awaited: RequestRecord[] = []
  /** When the first of them was sent, or came to be the first. */
  #firstSince = performance.now()
  #sentBytes = 0
  #receivedBytes = 0
  /** Of the response that is being read. */
  #body = 0
  #hints = 0
  #ownBody = ''
  #interim = false
  /** What waits for more to come. */
  #wake: () => void = () => {}
  #mayGoOn = false
  #halfOpen = false
  #ended = false

  constructor(url: string, plan: SessionPlan, records: Records) {
    this.#plan = plan
    this.#records = records
    this.#session = records.open(plan)
    this.#pauses = [...plan.pauses]
    this.#socket = connectTo(url)
    this.#socket.on('data', (bytes: Buffer) => this.#read(bytes))
    this.#socket.on('end', () => this.#close())
    this.#socket.on('error', ({ message }) => {
      this.#session.error = message
    })
    this.#socket.on('close', () => this.#end())
    this.#pauseIfDue()
  }

  /** Resolves when all responses are there, or the connection is at its end. */
  async run(): Promise<void> {
    for (const batch of this.#plan.batches) {
      if (!this.#ended) await this.#send(batch)
      await this.#until(() => this.#awaited.length === 0)
    }
    this.#socket.end(() => this.#socket.destroy())
    this.#ended = true
  }

  /** What was left half open. */
  destroy(): void {
    // A second time would leave a socket behind that is just being reset (26.10).
    if (!this.#socket.writableEnded || this.#halfOpen) this.#socket.destroy()
  }

  /** Nothing goes on any more. */
  giveUp(): void {
    if (this.#ended || this.#awaited.length === 0) return
    this.#records.report('the response never comes', this.#awaited[0] ?? null)
    this.#session.left = true
    this.#socket.destroy()
    this.#end()
  }

  onHead({ line, fields }: Head): Framing {
    const [record] = this.#awaited
    if (record === undefined) throw new Error(`a response that nobody asked for: ${line}`)
    const { plan } = record
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1])
    if (Number.isNaN(status)) throw new Error(`the status line is ${JSON.stringify(line)}`)
    this.#interim = status < 200 && status !== SWITCHING
    if (this.#interim) {
      this.#onInterim(status, fields, plan)
      return { length: 0 }
    }
    record.status = status
    if (performance.now() - this.#firstSince > LATE_MS && this.#awaited.length > 1) this.#session.late = true
    this.#hints = 0
    this.#body = 0
    this.#ownBody = ''
    const name = fieldOf(fields, 'x-response-to')
    if (name === undefined) record.error = 'own'
    else if (name !== String(plan.id)) throw new Error(`the head is that of the response to ${name}`)
    else if (status !== plan.response.status) throw new Error(`the status is ${status}`)
    if (status === SWITCHING) {
      this.#mayGoOn = true
      return 'until the end of the connection'
    }
    const withBody = record.error === null ? hasBody(plan) : plan.method !== 'HEAD'
    return withBody ? framingOf(fields) : { length: 0 }
  }

  onBody(piece: Buffer): void {
    const record = this.#awaited[0] as RequestRecord
    if (record.error !== null) {
      this.#ownBody += piece.toString()
      return
    }
    const { id, response } = record.plan
    const end = lastEvent(response.says)
    const left = response.size - end.length - this.#body
    const difference = differenceIn(id, this.#body, piece.subarray(0, Math.max(0, left)), this.#records.isKnown)
    if (difference !== null) throw new Error(`of the response ${difference}`)
    const last = piece.subarray(Math.max(0, left))
    const from = Math.max(0, -left)
    if (!last.equals(end.subarray(from, from + last.length))) throw new Error(`the stream ends with ${last}`)
    this.#body += piece.length
    this.#records.bytes += piece.length
  }

  onEnd(trailers: readonly Field[]): void {
    if (this.#interim) return
    const record = this.#awaited.shift() as RequestRecord
    this.#firstSince = performance.now()
    const { plan } = record
    record.complete = true
    const named = fieldOf(trailers, 'x-trailer-of')
    const expected = record.error === null && bringsTrailers(plan) ? String(plan.id) : undefined
    if (named !== expected) throw new Error(`the trailers are those of ${named}, and should be those of ${expected}`)
    if (record.error !== null) record.error = /"error":"(\w+)"/.exec(this.#ownBody)?.[1] ?? 'own'
    else {
      this.#records.responses++
      const size = hasBody(plan) ? plan.response.size : 0
      if (this.#body !== size) this.#records.report(`the response has ${this.#body} of ${size} bytes`, record)
    }
    this.#mayGoOn = true
  }

  #onInterim(status: number, fields: readonly Field[], { id, upload, version, response }: RequestPlan): void {
    if (version === '1.0') throw new Error('a client of HTTP/1.0 got an interim response')
    if (status === 100 && upload?.expects) this.#mayGoOn = true
    else if (status === 103) {
      const link = fieldOf(fields, 'link')
      if (link !== `</${id}>; rel=preload`) throw new Error(`the hint is that of another request: ${link}`)
      const sent = response.interim.filter((interim) => interim === 103).length
      if (++this.#hints > sent) throw new Error(`${this.#hints} hints came, and the upstream sent ${sent}`)
    } else if (!response.interim.includes(status)) throw new Error(`an interim response ${status}`)
  }

  async #send(batch: readonly RequestPlan[]): Promise<void> {
    const [first] = batch
    this.#awaited = batch.map((plan) => this.#records.get(plan))
    this.#firstSince = performance.now()
    if (batch.length === 1 && first?.upload?.expects) return this.#sendWithExpect(first)
    if (first?.turns) return this.#talk(first, first.turns)
    const heads = batch.map((plan) => headOf(plan))
    const messages = batch.map((plan, i) => Buffer.concat([heads[i] as Buffer, uploadOf(plan)]))
    const ends = messages.map(({ length }) => length)
    for (let i = 1; i < ends.length; i++) ends[i] = (ends[i] as number) + (ends[i - 1] as number)
    await this.#write(Buffer.concat(messages), (heads[0] as Buffer).length, (sent) => {
      for (const [i, plan] of batch.entries()) {
        const begin = i === 0 ? 0 : (ends[i - 1] as number)
        const record = this.#records.get(plan)
        if (sent > begin) record.sent = sent >= (ends[i] as number) ? 'all' : 'a part'
      }
    })
  }

  async #sendWithExpect(plan: RequestPlan): Promise<void> {
    const record = this.#records.get(plan)
    const [head, body] = [headOf(plan), uploadOf(plan)]
    this.#mayGoOn = false
    await this.#write(head, head.length, () => {
      record.sent = 'a part'
    })
    await this.#until(() => this.#mayGoOn)
    // Behind a response that came first, as of an upstream that is gone, nothing more is sent.
    if (this.#ended || record.complete) return void this.#leave('close')
    await this.#write(body, 0, (sent) => {
      if (sent === body.length) record.sent = 'all'
    })
  }

  /** A WebSocket: what the upstream sends last ends it. */
  async #talk(plan: RequestPlan, turns: readonly Turn[]): Promise<void> {
    const record = this.#records.get(plan)
    const head = headOf(plan)
    this.#mayGoOn = false
    await this.#write(head, head.length, (sent) => {
      record.sent = sent === head.length ? 'all' : 'a part'
    })
    await this.#until(() => this.#mayGoOn)
    let [up, down] = [0, 0]
    for (const turn of turns) {
      if (this.#ended || record.complete) return
      await this.#write(bytesOf(plan.id + UPLOAD, up, turn.up), 0, () => {})
      up += turn.up
      down += turn.down
      await this.#until(() => this.#body >= down || record.complete)
    }
  }

  /** @param onSent called with how many bytes of it have been given away */
  async #write(message: Buffer, headLength: number, onSent: (sent: number) => void): Promise<void> {
    const { cutting, leaves } = this.#plan
    let sent = 0
    for (const piece of cut(message, headLength, cutting)) {
      if (isGone(this.#socket) || this.#ended) return
      const allowed = Math.max(0, (leaves?.sent ?? Number.POSITIVE_INFINITY) - this.#sentBytes)
      const written = piece.subarray(0, allowed)
      sent += written.length
      this.#sentBytes += written.length
      onSent(sent)
      this.#records.portions++
      if (written.length > 0) this.#socket.write(written)
      if (leaves !== null && this.#sentBytes >= leaves.sent) return this.#leave(leaves.how)
      await pause(cutting)
    }
  }

  #read(bytes: Buffer): void {
    if (this.#ended) return
    this.#records.portions++
    this.#receivedBytes += bytes.length
    try {
      this.#reader.push(bytes)
    } catch (error) {
      this.#fail((error as Error).message)
    }
    const { leaves } = this.#plan
    if (leaves !== null && this.#receivedBytes >= leaves.received) this.#leave(leaves.how)
    this.#pauseIfDue()
    this.#wake()
  }

  #fail(what: string): void {
    this.#records.report(what, this.#awaited[0] ?? null)
    this.#leave('close')
  }

  #pauseIfDue(): void {
    const [next] = this.#pauses
    if (next === undefined || this.#receivedBytes < next.at) return
    this.#pauses.shift()
    this.#socket.pause()
    setTimeout(() => this.#socket.resume(), next.ms)
  }

  #leave(how: 'close' | 'reset' | 'end'): void {
    if (this.#ended) return
    this.#session.left = true
    this.#halfOpen = how === 'end'
    if (how === 'end') this.#socket.end()
    else if (how === 'reset' && this.#mayReset()) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
    this.#end()
  }

  /** Node waits with a reset until all is written, and knows none by TLS (26.10). */
  #mayReset(): boolean {
    return !('encrypted' in this.#socket) && this.#socket.writableLength === 0
  }

  /** The gateway has ended its side. */
  #close(): void {
    if (this.#ended) return
    try {
      this.#reader.close()
    } catch (error) {
      this.#fail((error as Error).message)
    }
  }

  #end(): void {
    if (!this.#ended && this.#awaited[0]?.plan.response.fault === 'break') this.#session.broken = true
    this.#ended = true
    this.#wake()
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition() && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

/**
 * Behind a response whose head takes a second, the gateway reads on to see whether its client is there, and then serves no request
 * that is not whole (src/edge/connection.ts). Only a machine with much to do is so slow here.
 */
const LATE_MS = 900

const credentials = new Map<string, string>()

function credentialOf(user: string): string {
  const credential = credentials.get(user) ?? jwtOf(user)
  credentials.set(user, credential)
  return credential
}

function headOf(plan: RequestPlan): Buffer {
  const { id, method, version, user, upload, takesTrailers, upgrade, turns, last, response } = plan
  const path = `/${response.says === null ? 'r' : 's'}/${id}`
  const lines = [`${method} ${path} HTTP/${version}`, 'Host: a', `Authorization: Bearer ${credentialOf(user)}`]
  if (upload !== null)
    lines.push(upload.chunks === null ? `Content-Length: ${upload.size}` : 'Transfer-Encoding: chunked')
  if (upload?.expects) lines.push('Expect: 100-continue')
  if (takesTrailers) lines.push('TE: trailers')
  if (upgrade !== null) lines.push(`Upgrade: ${upgrade}`)
  if (turns !== null) lines.push('Upgrade: websocket', 'Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${KEY}`)
  const connection = [...(last ? ['close'] : []), ...(upgrade === null && turns === null ? [] : ['Upgrade'])]
  if (connection.length > 0) lines.push(`Connection: ${connection.join(', ')}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
}

/** Of RFC 6455, 1.3. */
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='

function uploadOf({ id, upload }: RequestPlan): Buffer {
  if (upload === null) return Buffer.alloc(0)
  const body = bytesOf(id + UPLOAD, 0, upload.size)
  return upload.chunks === null ? body : chunked(body, upload.chunks, id)
}

/** Whether the client gets trailers: who asks for them, and where both sides send in chunks. */
function bringsTrailers(plan: RequestPlan): boolean {
  const { framing, chunks } = plan.response
  return plan.takesTrailers && plan.version === '1.1' && hasBody(plan) && framing === 'chunked' && chunks.trailers
}

function framingOf(fields: readonly Field[]): Framing {
  if (fieldOf(fields, 'transfer-encoding') === 'chunked') return 'chunked'
  const length = fieldOf(fields, 'content-length')
  return length === undefined ? 'until the end of the connection' : { length: Number(length) }
}
