/** Streams of events, read as they pass. Only the present event is held. */

/** Reads a stream. Each character that it is given stands for one byte. */
export interface EventReader {
  push(bytes: string): void
  /** Notes that the stream is complete. A second call changes nothing. */
  end(): void
}

/**
 * Hears the data of each event, decoded as UTF-8.
 * @param data `null` for an event that is too long to be held
 * @param bytes how many bytes of the event were held at most, with everything around its data. For a frame that is too long it is the
 * length of the frame, and Infinity if the length is not valid
 */
export type EventListener = (data: string | null, bytes: number) => void

/** @param most the most bytes of an event that are held */
export type OpenEventReader = (most: number, hear: EventListener) => EventReader

/** The reader for a response of a content type; `null` if that is no stream of events. */
export function eventReaderOf(contentType: string): OpenEventReader | null {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type === 'text/event-stream') return (most, hear) => new LineReader(true, most, hear)
  if (JSON_LINES.has(type)) return (most, hear) => new LineReader(false, most, hear)
  return type === 'application/vnd.amazon.eventstream' ? (most, hear) => new FrameReader(most, hear) : null
}

/** The first four are not registered. A text of `json-seq` (RFC 7464) has a record separator before it. */
const JSON_LINES = new Set([
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/x-jsonlines',
  'application/json-seq',
])

const BYTE_ORDER_MARK = '\xEF\xBB\xBF'
const RECORD_SEPARATOR = '\x1E'
/** Stands for the rest of a line that is not held: no field has this name. */
const IGNORED = ':'

/**
 * Reads server-sent events as WHATWG defines them (HTML, 9.2.6): lines end with CR, LF or both, an empty line ends the event, and the
 * fields `data` hold its data. It also reads streams with a text on each line, which is then the event.
 */
class LineReader implements EventReader {
  readonly #hasFields: boolean
  readonly #most: number
  readonly #hear: EventListener
  /** The present line. */
  #line = ''
  /** The lines of data before the present line; `null` for none. */
  #data: string | null = null
  #isLong = false
  /** The most bytes of the event that were held. */
  #bytes = 0
  #isFirstLine = true
  /** Whether the last line ended with CR: a LF after it is part of the same line end. */
  #isAfterCr = false

  constructor(hasFields: boolean, most: number, hear: EventListener) {
    this.#hasFields = hasFields
    this.#most = most
    this.#hear = hear
  }

  push(bytes: string): void {
    if (bytes === '') return
    const ends = /\r\n?|\n/g
    let from = this.#isAfterCr && bytes.startsWith('\n') ? 1 : 0
    ends.lastIndex = from
    for (let end = ends.exec(bytes); end !== null; end = ends.exec(bytes)) {
      this.#hold(bytes.slice(from, end.index))
      this.#endLine()
      from = ends.lastIndex
    }
    this.#hold(bytes.slice(from))
    this.#isAfterCr = bytes.endsWith('\r')
  }

  /** An event without its empty line at the end does not count. */
  end(): void {
    if (!this.#hasFields && this.#line !== '') this.#endLine()
  }

  /** A line that is too long is not held. If it is a comment, its event is still complete, so the length of comments has no bound. */
  #hold(part: string): void {
    const line = this.#line + part
    const bytes = (this.#data?.length ?? 0) + line.length
    if (bytes <= this.#most) {
      this.#line = line
      if (bytes > this.#bytes && this.#withoutMark(line).startsWith(this.#hasFields ? 'data:' : '')) this.#bytes = bytes
      return
    }
    if (!this.#hasFields || this.#withoutMark(line).startsWith('data:')) {
      this.#isLong = true
      this.#data = null
    }
    this.#line = IGNORED
  }

  #endLine(): void {
    const line = this.#withoutMark(this.#line)
    this.#line = ''
    this.#isFirstLine = false
    if (!this.#hasFields) {
      if (line !== '') this.#endEvent(line.startsWith(RECORD_SEPARATOR) ? line.slice(1) : line)
    } else if (line === '') this.#endEvent(this.#data)
    else if (!this.#isLong && (line === 'data' || line.startsWith('data:'))) {
      const value = line.slice(line.startsWith('data: ') ? 6 : 5)
      this.#data = this.#data === null ? value : `${this.#data}\n${value}`
    }
  }

  #withoutMark(line: string): string {
    return this.#isFirstLine && line.startsWith(BYTE_ORDER_MARK) ? line.slice(BYTE_ORDER_MARK.length) : line
  }

  #endEvent(data: string | null): void {
    const [isLong, bytes] = [this.#isLong, this.#bytes]
    this.#data = null
    this.#isLong = false
    this.#bytes = 0
    if (isLong) this.#hear(null, bytes)
    else if (data !== null) this.#hear(decoded(data), bytes)
  }
}

/** Bytes before the fields of a frame: its length, the length of the fields, and a checksum of both. */
const PRELUDE = 12
/** Bytes of the checksum after the data. */
const CHECKSUM = 4

/**
 * Reads the frames of Amazon's event streams. Each has its length in front: prelude, fields, data, checksum.
 * `InvokeModelWithResponseStream` of Bedrock wraps the event of the model in the data, as `{"bytes":"<base64>"}`.
 */
class FrameReader implements EventReader {
  readonly #most: number
  readonly #hear: EventListener
  #held = ''
  /** Bytes that are needed before anything can be read: those of a prelude, then those of its frame. */
  #wanted = PRELUDE
  /** Bytes of a long frame that are still to come and are skipped. */
  #skipped = 0

  constructor(most: number, hear: EventListener) {
    this.#most = most
    this.#hear = hear
  }

  push(bytes: string): void {
    this.#held += bytes.slice(this.#skipped)
    this.#skipped = Math.max(0, this.#skipped - bytes.length)
    while (this.#held.length >= this.#wanted) {
      if (this.#wanted === PRELUDE) this.#readPrelude()
      else this.#readFrame()
    }
  }

  end(): void {}

  #readPrelude(): void {
    const length = numberAt(this.#held, 0)
    // A shorter length is no frame, and nobody knows where the next frame begins.
    if (length < PRELUDE + CHECKSUM) this.#skip(Number.POSITIVE_INFINITY)
    else if (length > this.#most) this.#skip(length)
    else this.#wanted = length
  }

  #skip(length: number): void {
    this.#skipped = Math.max(0, length - this.#held.length)
    this.#held = this.#held.slice(length)
    this.#hear(null, length)
  }

  #readFrame(): void {
    const frame = this.#held.slice(0, this.#wanted)
    this.#held = this.#held.slice(this.#wanted)
    this.#wanted = PRELUDE
    this.#hear(unwrapped(decoded(frame.slice(PRELUDE + numberAt(frame, 4), -CHECKSUM))), frame.length)
  }
}

function numberAt(bytes: string, at: number): number {
  return Buffer.from(bytes.slice(at, at + 4), 'latin1').readUInt32BE()
}

function unwrapped(data: string): string {
  const base64 = /^\{"bytes":"([\w+/=]*)"/.exec(data)?.[1]
  return base64 === undefined ? data : Buffer.from(base64, 'base64').toString('utf8')
}

function decoded(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
