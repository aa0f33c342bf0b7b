/** A reader of HTTP/1.1 messages, one after the other, in whatever portions they come. It shares nothing with the gateway. */

export type Field = readonly [name: string, value: string]

export interface Head {
  /** The request line, or the status line. */
  readonly line: string
  /** Names in lower case. */
  readonly fields: readonly Field[]
}

/** How the end of a body is found. */
export type Framing = { readonly length: number } | 'chunked' | 'until the end of the connection'

export interface MessageSink {
  onHead(head: Head): Framing
  onBody(piece: Buffer): void
  onEnd(trailers: readonly Field[]): void
}

type State = 'head' | 'length' | 'size' | 'chunk' | 'behind a chunk' | 'trailers' | 'until the end of the connection'

const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/

/** `push` throws where the bytes are no such message. */
export class MessageReader {
  readonly #sink: MessageSink
  #state: State = 'head'
  /** Lines of a head or of trailers so far, and the beginning of the next one. */
  #lines: string[] = []
  #line = ''
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left = 0

  constructor(sink: MessageSink) {
    this.#sink = sink
  }

  /** Whether nothing of a message has come that is not complete. */
  get between(): boolean {
    return this.#state === 'head' && this.#lines.length === 0 && this.#line === ''
  }

  /** Whether the end of the connection is the end of a body. */
  get endsByClose(): boolean {
    return this.#state === 'until the end of the connection'
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at += this.#take(at === 0 ? bytes : bytes.subarray(at))
  }

  /** The connection has ended, in order. */
  close(): void {
    if (this.endsByClose) this.#end([])
  }

  /** @returns how many bytes were taken, at least one */
  #take(bytes: Buffer): number {
    if (this.#state === 'until the end of the connection') {
      this.#sink.onBody(bytes)
      return bytes.length
    }
    if (this.#state === 'length' || this.#state === 'chunk') return this.#takeBody(bytes)
    const end = bytes.indexOf('\n')
    this.#line += bytes.toString('latin1', 0, end < 0 ? bytes.length : end + 1)
    if (this.#line.length > 100_000) throw new Error('a line has no end')
    if (end < 0) return bytes.length
    if (!this.#line.endsWith('\r\n')) throw new Error(`a line ends without CR: ${JSON.stringify(this.#line)}`)
    const line = this.#line.slice(0, -2)
    this.#line = ''
    this.#takeLine(line)
    return end + 1
  }

  #takeBody(bytes: Buffer): number {
    const piece = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes
    this.#left -= piece.length
    this.#sink.onBody(piece)
    if (this.#left === 0 && this.#state === 'length') this.#end([])
    else if (this.#left === 0) this.#state = 'behind a chunk'
    return piece.length
  }

  #takeLine(line: string): void {
    if (this.#state === 'size') {
      if (!/^[0-9a-f]{1,8}$/i.test(line)) throw new Error(`the size of a chunk is ${JSON.stringify(line)}`)
      this.#left = Number.parseInt(line, 16)
      this.#state = this.#left === 0 ? 'trailers' : 'chunk'
    } else if (this.#state === 'behind a chunk') {
      if (line !== '') throw new Error(`behind a chunk is ${JSON.stringify(line)}`)
      this.#state = 'size'
    } else if (line !== '') this.#lines.push(line)
    else if (this.#state === 'trailers') this.#end(this.#fields())
    else this.#begin()
  }

  #begin(): void {
    const [line = ''] = this.#lines.splice(0, 1)
    const framing = this.#sink.onHead({ line, fields: this.#fields() })
    if (framing === 'chunked') this.#state = 'size'
    else if (!(typeof framing === 'object')) this.#state = 'until the end of the connection'
    else if (framing.length === 0) this.#end([])
    else {
      this.#state = 'length'
      this.#left = framing.length
    }
  }

  #fields(): Field[] {
    return this.#lines.splice(0).map((line) => {
      const match = FIELD.exec(line)
      if (match === null) throw new Error(`a field is ${JSON.stringify(line)}`)
      return [(match[1] as string).toLowerCase(), match[2] as string]
    })
  }

  #end(trailers: readonly Field[]): void {
    this.#state = 'head'
    this.#sink.onEnd(trailers)
  }
}

export function fieldOf(fields: readonly Field[], name: string): string | undefined {
  return fields.find((field) => field[0] === name)?.[1]
}
