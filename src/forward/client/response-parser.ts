import { MAX_INTERIM, type ResponseReceiver } from './contract.ts'
import { BadResponseError, ConnectionLostError, StrayBytesError } from './failure.ts'
import { BARE_LF, LENIENT_END, type Leniency, mended } from './leniency.ts'
import { type ParsedHead, parseResponseHead, parseTrailers } from './response-head.ts'

/** Receives a response piece by piece. */
export type ResponseSink = Pick<ResponseReceiver, 'onInterim' | 'onHead' | 'onBody' | 'onEnd'>

/** Up to how many bytes a body, or its rest, is handed on as text. */
const MAX_TEXT = 16 * 1024
/** Up to how many bytes a piece is copied, because many short pieces for a slow client would each hold a whole read buffer. */
const MAX_COPIED = 16 * 1024
/** The most bytes in a line that begins a chunk, with its extensions. */
const MAX_CHUNK_LINE = 1024

/** How each response begins. */
const BEGINNING = 'HTTP/1.'

type State = 'idle' | 'head' | 'length' | 'close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers'

/**
 * Reads the responses of one connection one after another (RFC 9112, sections 4 to 7). It knows no socket: it takes bytes,
 * and hands the result to the sink of the awaited response.
 */
export class ResponseReader {
  readonly #maxHead: number
  readonly #lenient: ReadonlySet<Leniency>
  #state: State = 'idle'
  #sink: ResponseSink | null = null
  #bodiless = false
  #persistent = true
  /** How many bytes of the body or the chunk are still to come. */
  #left = 0
  /** The beginning of a head or line that is still incomplete. */
  #kept: Buffer | null = null
  #begun = false
  #interim = 0
  /** Whether a head of the awaited response had faults. */
  #mended = false
  #keptFor: number | null = null
  #lent = false
  /** The part of this read with the short chunks that are still to be handed on together; both 0 for none. */
  #runFrom = 0
  #runTo = 0

  /** @param lenient the faults of a head that are tolerated */
  constructor(maxHead: number, lenient: ReadonlySet<Leniency> = STRICT) {
    this.#maxHead = maxHead
    this.#lenient = lenient
  }

  /** @param bodiless whether the response has no body whatever its head says, for example after HEAD */
  expect(sink: ResponseSink, bodiless: boolean): void {
    this.#sink = sink
    this.#bodiless = bodiless
    this.#begun = false
    this.#interim = 0
    this.#mended = false
    this.#state = 'head'
  }

  /** Whether any byte of the awaited response has come. */
  get begun(): boolean {
    return this.#begun
  }

  /** How many interim responses have come before the awaited one. */
  get interim(): number {
    return this.#interim
  }

  /** Whether the connection may serve another request; meaningful between two responses. */
  get persistent(): boolean {
    return this.#persistent
  }

  /** Whether no response is awaited. */
  get idle(): boolean {
    return this.#state === 'idle'
  }

  /** For how many seconds the upstream keeps the connection, by the last response that said so. */
  get keptFor(): number | null {
    return this.#keptFor
  }

  /** Whether the last `read` handed pieces to the sink that are parts of its bytes, and no copies. */
  get lent(): boolean {
    return this.#lent
  }

  /** From now on the sink is not called. */
  abandon(): void {
    this.#sink = null
  }

  /**
   * @param bytes the reader does not keep them, but may move their content
   * @throws BadResponseError after which the connection cannot be used
   */
  read(bytes: Buffer): void {
    let at = 0
    let input = bytes
    this.#begun = true
    this.#lent = false
    if (this.#kept !== null) {
      input = Buffer.concat([this.#kept, bytes])
      this.#kept = null
    }
    while (at < input.length && this.#sink !== null) {
      if (this.#state === 'head') at = this.#readHead(input, at)
      else if (this.#state === 'chunk-size') at = this.#readChunkSize(input, at)
      else if (this.#state === 'chunk-end') at = this.#readChunkEnd(input, at)
      else if (this.#state === 'trailers') at = this.#readTrailers(input, at)
      else {
        const end = this.#state === 'close' ? input.length : Math.min(input.length, at + this.#left)
        this.#readBody(input, at, end)
        at = end
      }
    }
    this.#reportRun(input)
    // The rest are unexpected bytes, which could be taken for the response to any later request.
    if (at < input.length && this.#state === 'idle') this.#persistent = false
  }

  /** Handles the end of the upstream's side. @throws Error if the response is incomplete */
  end(): void {
    this.#persistent = false
    if (this.#state === 'close') this.#finish([])
    else if (this.#state === 'head' && !this.#begun) throw new ConnectionLostError('the upstream closed the connection')
    else if (this.#state !== 'idle') throw new BadResponseError('the connection was closed within the answer')
  }

  #readHead(input: Buffer, at: number): number {
    const text = input.toString('latin1', at, Math.min(input.length, at + Math.max(this.#maxHead + 4, MAX_TEXT)))
    // If the bytes cannot begin a head, there is no need to wait for more.
    if (!BEGINNING.startsWith(text.slice(0, BEGINNING.length))) throw new StrayBytesError('this is not HTTP/1')
    const isLenient = this.#lenient.has('bare_lf')
    const found = isLenient ? LENIENT_END.exec(text) : null
    const end = isLenient ? (found?.index ?? -1) : text.indexOf('\r\n\r\n')
    const bodyAt = end + (found?.[0].length ?? 4)
    if (end > this.#maxHead || (end === -1 && text.length > this.#maxHead))
      throw new BadResponseError('too long a head')
    if (end === -1) {
      if (!isLenient && BARE_LF.test(text)) throw new BadResponseError('a line that ends in LF alone')
      return this.#keep(input, at)
    }
    const head = this.#lenient.size === 0 ? parseResponseHead(text, end) : this.#parseLeniently(text, end, bodyAt)
    this.#mended ||= head.needed.length > 0
    if (head.status < 200) {
      if (head.status === 101) throw new BadResponseError('an upgrade that nobody asked for')
      if (++this.#interim > MAX_INTERIM) throw new BadResponseError('too many interim answers')
      this.#sink?.onInterim(head)
      return at + bodyAt
    }
    return at + bodyAt + this.#openBody(head, text, bodyAt, input.length - at)
  }

  /** Tries the strict parser first, because most heads have no faults. */
  #parseLeniently(text: string, end: number, bodyAt: number): ParsedHead {
    const head = text.slice(0, end)
    const endsInLf = text.slice(end, bodyAt) !== '\r\n\r\n'
    try {
      const parsed = parseResponseHead(head, end)
      return endsInLf ? { ...parsed, needed: ['bare_lf'] } : parsed
    } catch (error) {
      const { head: strict, needed } = mended(head, this.#lenient)
      if (needed.length === 0) throw error
      const all = endsInLf ? new Set<Leniency>(['bare_lf', ...needed]) : needed
      return { ...parseResponseHead(strict, strict.length), needed: [...all] }
    }
  }

  /** @returns how many bytes of the body were read together with the head */
  #openBody(head: ParsedHead, text: string, bodyAt: number, available: number): number {
    const { framing } = head
    const bodiless = this.#bodiless || head.status === 204 || head.status === 304
    // A 204 never has a body (RFC 9110 section 6.4.1). If it announces one, the upstream may send it as unexpected bytes.
    const overstated =
      head.status === 204 && (framing.kind === 'chunked' || (framing.kind === 'length' && framing.length > 0))
    // A server that writes a faulty head may send unexpected bytes after it, which must not reach the next request.
    this.#persistent = head.persistent && !this.#mended && !overstated && (bodiless || framing.kind !== 'close')
    this.#keptFor = head.keptFor ?? this.#keptFor
    this.#sink?.onHead(head)
    if (bodiless || (framing.kind === 'length' && framing.length === 0)) {
      this.#finish([])
      return 0
    }
    if (framing.kind === 'chunked') this.#state = 'chunk-size'
    else if (framing.kind === 'close') this.#state = 'close'
    else if (framing.length <= MAX_TEXT && bodyAt + framing.length <= Math.min(text.length, available)) {
      this.#sink?.onBody(text.slice(bodyAt, bodyAt + framing.length), true)
      this.#finish([])
      return framing.length
    } else {
      this.#state = 'length'
      this.#left = framing.length
    }
    return 0
  }

  #readBody(input: Buffer, at: number, end: number): void {
    const state = this.#state
    if (state !== 'close') this.#left -= end - at
    if (state === 'chunk') this.#readChunk(input, at, end)
    else {
      const last = state === 'length' && this.#left === 0
      const isText = last && end - at <= MAX_TEXT
      this.#sink?.onBody(isText ? input.toString('latin1', at, end) : this.#piece(input, at, end), last)
      if (last) this.#finish([])
    }
  }

  /**
   * Short chunks are moved together and handed on at the end of the read. One read may bring 10,000 chunks of a byte, and a
   * write for each of them would wait for a slow client.
   */
  #readChunk(input: Buffer, at: number, end: number): void {
    if (this.#left === 0) this.#state = 'chunk-end'
    if (end - at > MAX_COPIED) {
      this.#reportRun(input)
      this.#sink?.onBody(this.#piece(input, at, end), false)
      return
    }
    if (this.#runTo === 0) this.#runFrom = this.#runTo = at
    if (end - at === 1) input[this.#runTo] = input[at] as number
    else if (this.#runTo !== at) input.copyWithin(this.#runTo, at, end)
    this.#runTo += end - at
  }

  #reportRun(input: Buffer): void {
    if (this.#runTo === 0) return
    const piece = this.#piece(input, this.#runFrom, this.#runTo)
    this.#runFrom = this.#runTo = 0
    this.#sink?.onBody(piece, false)
  }

  #piece(input: Buffer, at: number, end: number): Buffer {
    const part = input.subarray(at, end)
    if (part.length <= MAX_COPIED) return Buffer.from(part)
    this.#lent = true
    return part
  }

  #readChunkSize(input: Buffer, at: number): number {
    const behind = this.#readPlainSize(input, at)
    return behind === -1 ? this.#readSizeLine(input, at) : behind
  }

  /**
   * Reads a size byte by byte. One read may bring 10,000 such lines, which would take ten times as long if each was read as text.
   * @returns where the line ends; -1 if it contains anything but a size, or is incomplete
   */
  #readPlainSize(input: Buffer, at: number): number {
    let size = 0
    for (let i = at; i < at + MAX_DIGITS; i++) {
      const digit = DIGITS[input[i] ?? 0] ?? NO_DIGIT
      if (digit !== NO_DIGIT) {
        size = size * 16 + digit
        continue
      }
      if (i === at || input[i] !== CR || input[i + 1] !== LF) return -1
      this.#openChunk(size)
      return i + 2
    }
    return -1
  }

  #openChunk(size: number): void {
    this.#left = size
    this.#state = size === 0 ? 'trailers' : 'chunk'
  }

  #readSizeLine(input: Buffer, at: number): number {
    const end = this.#lineEnd(input, at, MAX_CHUNK_LINE)
    if (end === -1) return this.#keep(input, at)
    // Old servers pad a size with blanks, which cannot move the end of a chunk. Extensions are dropped. Their content is
    // restricted, because a bare LF in one has split messages (CVE-2025-55315).
    const size = /^([0-9a-fA-F]{1,12})[\t ]*(?:;[\t -~\x80-\xff]*)?$/.exec(input.toString('latin1', at, end))?.[1]
    if (size === undefined) throw new BadResponseError('a chunk without a size')
    this.#openChunk(Number.parseInt(size, 16))
    return end + 2
  }

  #readChunkEnd(input: Buffer, at: number): number {
    if (input.length - at < 2) return this.#keep(input, at)
    if (input[at] !== CR || input[at + 1] !== LF) throw new BadResponseError('a chunk longer than its size')
    this.#state = 'chunk-size'
    return at + 2
  }

  #readTrailers(input: Buffer, at: number): number {
    this.#reportRun(input)
    if (input[at] === CR && input[at + 1] === LF) {
      this.#finish([])
      return at + 2
    }
    const end = input.indexOf('\r\n\r\n', at, 'latin1')
    if (end === -1 && input.length - at <= this.#maxHead) return this.#keep(input, at)
    if (end === -1 || end - at > this.#maxHead) throw new BadResponseError('too long a trailer section')
    this.#finish(parseTrailers(input.toString('latin1', at, end)))
    return end + 4
  }

  #lineEnd(input: Buffer, at: number, max: number): number {
    const end = input.indexOf('\r\n', at, 'latin1')
    if (end > at + max || (end === -1 && input.length - at > max)) throw new BadResponseError('too long a line')
    return end
  }

  #keep(input: Buffer, at: number): number {
    this.#kept = Buffer.from(input.subarray(at))
    return input.length
  }

  #finish(trailers: readonly string[]): void {
    const sink = this.#sink
    this.#sink = null
    this.#state = 'idle'
    sink?.onEnd(trailers)
  }
}

const STRICT: ReadonlySet<Leniency> = new Set()

const CR = 13
const LF = 10

/** The most digits of a size that is read byte by byte. A longer one is read as text. */
const MAX_DIGITS = 12
const NO_DIGIT = 255
/** The value of a byte as a hexadecimal digit. */
const DIGITS = Uint8Array.from({ length: 256 }, (_, code) => {
  const text = String.fromCharCode(code)
  return /[0-9a-fA-F]/.test(text) ? Number.parseInt(text, 16) : NO_DIGIT
})
