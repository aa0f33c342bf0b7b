import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { StringDecoder } from 'node:string_decoder'
import { createGunzip } from 'node:zlib'

/** The longest line that is read, in characters. No server writes a longer one into its access log. */
const LONGEST_LINE = 65_536
const CHUNK = 262_144

/** Hears of each line that is not empty. @param number from 1 */
export type LineListener = (line: string, number: number) => void

/** Reads a file line by line, also a gzip file. @param file `-`: the standard input. @throws Error that names the file */
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

/** The contents of the file, packed or not: its first bytes say which. */
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

/** Joins pieces to lines. Of a line that is too long only the beginning is kept, so that it cannot be read. */
function createSplitter(listener: LineListener) {
  const decoder = new StringDecoder('utf8')
  /** The beginning of a line whose end has not come yet. */
  let rest = ''
  let number = 0

  function take(text: string): void {
    number++
    const line = text.endsWith('\r') ? text.slice(0, -1) : text
    if (line !== '') listener(line.slice(0, LONGEST_LINE), number)
  }

  return {
    add(piece: Buffer): void {
      const lines = (rest + decoder.write(piece)).split('\n')
      rest = lines.pop()?.slice(0, LONGEST_LINE) ?? ''
      for (const line of lines) take(line)
    },
    end(): void {
      const last = rest + decoder.end()
      if (last !== '') take(last)
    },
  }
}
