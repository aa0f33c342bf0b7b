import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

/** Longest line that is read, in characters. No access log of a server has one. */
const LONGEST_LINE = 65_536
const CHUNK = 262_144

/** Hears of each line that is not empty. */
export interface LineListener {
  /** @param number from 1 */
  text(line: string, number: number): void
  /**
   * Is asked first, with the bytes of the line between `from` and `to`, which are its own for this call only.
   * @returns whether it took the line; `text` gets what it leaves, and each line that is very long
   */
  bytes(piece: Buffer, from: number, to: number, number: number): boolean
}

/** Reads a file line by line, one that gzip has packed too. @param file `-` for the standard input. @throws Error that names the file */
export async function readLines(file: string, listener: LineListener): Promise<void> {
  const bytes = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: CHUNK })
  try {
    await splitLines(bytes, listener)
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

async function splitLines(bytes: Readable, listener: LineListener): Promise<void> {
  const splitter = createSplitter(listener)
  await pipeline(bytes, unpacked, async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) splitter.add(chunk)
  })
  splitter.end()
}

/** What lies in the file, whether or not it is packed: its first bytes say so. */
async function* unpacked(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const source = chunks[Symbol.asyncIterator]()
  const first = await source.next()
  if (first.done === true) return
  const whole = rejoined(first.value, source)
  if (first.value[0] !== 0x1f || first.value[1] !== 0x8b) return yield* whole
  const gunzip = createGunzip({ chunkSize: CHUNK })
  const packed = pipeline(whole, gunzip)
  packed.catch(() => {})
  yield* gunzip
  await packed
}

async function* rejoined(first: Buffer, rest: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  yield first
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
}

const NEWLINE = 0x0a
const RETURN = 0x0d
/** A character has up to three bytes (and one of two halves four). */
const LONGEST_LINE_BYTES = 3 * LONGEST_LINE

/** Puts lines together that come in pieces. Of one that is too long only the beginning is kept, so that it cannot be read. */
function createSplitter(listener: LineListener) {
  /** The beginning of a line whose end is not there yet. */
  let rest: Buffer = Buffer.alloc(0)
  let number = 0

  function take(piece: Buffer, from: number, end: number): void {
    number++
    const to = end > from && piece[end - 1] === RETURN ? end - 1 : end
    if (to === from) return
    if (to - from <= LONGEST_LINE && listener.bytes(piece, from, to, number)) return
    listener.text(piece.toString('utf8', from, to).slice(0, LONGEST_LINE), number)
  }

  function keep(piece: Buffer): void {
    const room = LONGEST_LINE_BYTES - rest.length
    if (room > 0 && piece.length > 0) rest = Buffer.concat([rest, piece.subarray(0, room)])
  }

  return {
    add(piece: Buffer): void {
      let from = 0
      let end = piece.indexOf(NEWLINE)
      if (end >= 0 && rest.length > 0) {
        keep(piece.subarray(0, end))
        take(rest, 0, rest.length)
        rest = Buffer.alloc(0)
        from = end + 1
        end = piece.indexOf(NEWLINE, from)
      }
      for (; end >= 0; end = piece.indexOf(NEWLINE, from)) {
        take(piece, from, end)
        from = end + 1
      }
      keep(piece.subarray(from))
    },
    end(): void {
      if (rest.length > 0) take(rest, 0, rest.length)
    },
  }
}
