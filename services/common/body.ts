import type { Readable } from 'node:stream'

/**
 * A body above the limit is still read and dropped, up to this many times the limit. If the connection closed at once, the
 * kernel would reset it while the peer still writes, and the 413 would be lost.
 */
const DRAINED = 16

/**
 * The most values in one body. 10,000 records of 14 members have 150,000, but a megabyte of `0,` has half a million.
 * While the values of a body are read and checked, no other request is served.
 */
const MAX_VALUES = 500_000

/** The body cannot be read as JSON. */
export class BadBody extends Error {
  override readonly name = 'BadBody'
}

/** The body is larger than its service allows. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge'
}

/** Reads a whole body. @param limit in bytes @throws BodyTooLarge @throws BadBody if the peer breaks off */
export async function readBody(stream: Readable, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of stream) {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else if (size > DRAINED * limit) break
    }
  } catch (error) {
    throw new BadBody('the body was cut off', { cause: error })
  }
  if (size > limit) throw new BodyTooLarge()
  return Buffer.concat(chunks)
}

/** A reviver with its third argument, which TypeScript's library does not have yet. */
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown

/**
 * Reads JSON in strict UTF-8. A `__proto__` key is refused at any depth, before it can reach code that merges objects.
 * @param exact names of fields whose numbers come out as their source text, because a double would round them
 * @throws BadBody
 */
export function parseBody(bytes: Uint8Array, exact: ReadonlySet<string>): unknown {
  if (valuesIn(bytes, MAX_VALUES) > MAX_VALUES) throw new BadBody('the body has too many values')
  try {
    return parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), (key, value, { source }) => {
      if (key === '__proto__') throw new BadBody('the key __proto__ is not allowed')
      return typeof value === 'number' && exact.has(key) ? source : value
    })
  } catch (error) {
    // The parser's own message quotes the body, which may hold a QR code.
    throw error instanceof BadBody ? error : new BadBody('the body is not valid JSON', { cause: error })
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
/** `,`, `[` and `{`, which are counted in place of values: a body has at most one value more than such bytes. */
const VALUE = new Set([0x2c, 0x5b, 0x7b])

/** Estimates the number of values by the bytes of VALUE outside of texts. @param most counting ends above it */
function valuesIn(bytes: Uint8Array, most: number): number {
  let values = 0
  let isText = false
  for (let at = 0; at < bytes.length && values <= most; at++) {
    const byte = bytes[at] as number
    if (byte === QUOTE) isText = !isText
    else if (isText && byte === BACKSLASH) at++
    else if (!isText && VALUE.has(byte)) values++
  }
  return values
}
