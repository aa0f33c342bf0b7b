import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import type { EventReader, OpenEventReader } from '../lib/event-stream.ts'
import { gather } from '../lib/gathered-bytes.ts'
import { JsonText } from '../lib/json-text.ts'

type Decoder = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress) as Decoder,
}

export function isPlain(coding: string): boolean {
  return coding === '' || coding === 'identity'
}

/** @param event `null` if it is too long */
type Listener = (event: JsonText | null) => void

/**
 * The body of one response, kept, decoded and parsed once for all meters that it settles. Each meter hands in every piece, and only the
 * first copy of a piece counts.
 */
export class ResponseText {
  readonly #most: number
  readonly #body = gather()
  /** How many bytes were handed in so far. */
  #length = 0
  #whole: JsonText | Promise<JsonText | null> | null = null
  #events: EventReader | null = null
  readonly #listeners: Listener[] = []

  /** @param most how many bytes of a body or an event the meters read at most */
  constructor(most: number) {
    this.#most = most
  }

  /** @param length of all pieces that this meter has handed in, with this one */
  hold(piece: Buffer | string, length: number): void {
    if (this.#isNew(length)) this.#body.add(Buffer.from(piece as string, 'latin1'))
  }

  /** The decoded body, as a promise only if it has a coding. `null` if it cannot be decoded, or is longer than any meter reads. */
  whole(coding: string): JsonText | Promise<JsonText | null> {
    this.#whole ??= isPlain(coding) ? textOf(this.#body.whole()) : this.#decoded(coding)
    return this.#whole
  }

  /** Calls the listener with each event of a stream from now on. */
  listen(open: OpenEventReader, listener: Listener): void {
    this.#listeners.push(listener)
    this.#events ??= open(this.#most, (data, bytes) => this.#hear(data, bytes))
  }

  /** Like `hold`, for a stream. */
  pass(piece: Buffer | string, length: number): void {
    if (this.#isNew(length)) this.#events?.push(typeof piece === 'string' ? piece : piece.toString('latin1'))
  }

  /** Ends the stream. */
  end(): void {
    this.#events?.end()
  }

  #isNew(length: number): boolean {
    if (length <= this.#length) return false
    this.#length = length
    return true
  }

  #hear(data: string | null, bytes: number): void {
    const event = data === null ? null : new JsonText(data, bytes)
    for (const listener of this.#listeners) listener(event)
  }

  async #decoded(coding: string): Promise<JsonText | null> {
    const decode = DECODERS[coding]
    if (decode === undefined) return null
    try {
      return textOf(await decode(this.#body.whole(), { maxOutputLength: this.#most }))
    } catch {
      return null
    }
  }
}

function textOf(body: Buffer): JsonText {
  return new JsonText(body.toString('utf8'), body.length)
}
