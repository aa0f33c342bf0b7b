/**
 * Bodies that name their request: blocks of 8 bytes, each with the number of the request and its own place. A byte of
 * another request, or one in another place, differs from what belongs there.
 */

const BLOCK = 8

/** Bytes of the endless body of a request, from a position on. @param id of 32 bits */
export function bytesOf(id: number, from: number, length: number): Buffer {
  const first = Math.floor(from / BLOCK)
  const blocks = Math.ceil((from + length) / BLOCK) - first
  const words = new Uint32Array(2 * blocks)
  for (let i = 0; i < blocks; i++) {
    words[2 * i] = id
    words[2 * i + 1] = first + i
  }
  return Buffer.from(words.buffer).subarray(from - first * BLOCK, from - first * BLOCK + length)
}

/** The last bytes of a stream: behind whatever there is, the one event that is one. */
export function lastEvent(says: number | null): Buffer {
  return Buffer.from(says === null ? '' : `\n\ndata: {"n":${says}}\n\n`)
}

/**
 * What is wrong with bytes that should be those of a request, or `null`.
 * @param isKnown whether a number is that of some request
 */
export function differenceIn(id: number, from: number, bytes: Buffer, isKnown: (id: number) => boolean): string | null {
  const own = bytesOf(id, from, bytes.length)
  if (own.equals(bytes)) return null
  const at = own.findIndex((byte, i) => byte !== bytes[i])
  return `byte ${from + at} ${ownerOf(bytes.subarray(Math.max(0, at - BLOCK), at + 3 * BLOCK), isKnown)}`
}

function ownerOf(bytes: Buffer, isKnown: (id: number) => boolean): string {
  for (let at = 0; at + BLOCK <= bytes.length; at++) {
    const id = bytes.readUInt32LE(at)
    if (isKnown(id)) return `stands beside byte ${BLOCK * bytes.readUInt32LE(at + 4)} of request ${id}`
  }
  return `is of no request: ${bytes.toString('hex')}`
}
