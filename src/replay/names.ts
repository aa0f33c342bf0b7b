/**
 * Texts of a log that come again and again, found by their bytes: a name is decoded once, and is the same string each time. Most of the
 * work of reading a log is otherwise to make strings that are thrown away.
 */
export interface Names {
  /** @param hash of the bytes from `from` to before `to`, as `hashOf` makes it */
  textOf(bytes: Uint8Array, from: number, to: number, hash: number): string
}

export const EMPTY_HASH = 0x811c9dc5 | 0

/** FNV-1a of the bytes from `from` to before `to`. */
export function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = EMPTY_HASH
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193)
  return hash
}

/** Beyond these, names are decoded each time. */
const MOST_NAMES = 1 << 19
const MOST_BYTES = 1 << 25

/** @param most names that are remembered. Default 524288 */
export function createNames(most = MOST_NAMES): Names {
  const texts: string[] = []
  /** Where the bytes of each name end in `kept`. */
  let ends = new Int32Array(1024)
  let kept = new Uint8Array(32_768)
  /** Of each place a name, counted from 1, or 0. */
  let table = new Int32Array(2048)
  let hashes = new Int32Array(1024)

  function textOf(bytes: Uint8Array, from: number, to: number, hash: number): string {
    const mask = table.length - 1
    let place = mask & (hash ^ (hash >>> 15))
    for (let name = table[place] as number; name !== 0; name = table[place] as number) {
      if (hashes[name - 1] === hash && isSame(name - 1, bytes, from, to)) return texts[name - 1] as string
      place = (place + 1) & mask
    }
    const text = decoded(bytes, from, to)
    const end = usedBytes() + to - from
    if (texts.length < most && end <= MOST_BYTES) {
      table[place] = remember(text, bytes.subarray(from, to), hash)
      if (texts.length * 2 > table.length) table = spread(table.length * 2)
    }
    return text
  }

  function isSame(name: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = name === 0 ? 0 : (ends[name - 1] as number)
    if ((ends[name] as number) - start !== to - from) return false
    for (let i = from, k = start; i < to; i++, k++) if (bytes[i] !== kept[k]) return false
    return true
  }

  function usedBytes(): number {
    return texts.length === 0 ? 0 : (ends[texts.length - 1] as number)
  }

  /** @returns its number, from 1 */
  function remember(text: string, bytes: Uint8Array, hash: number): number {
    const start = usedBytes()
    const number = texts.push(text)
    if (number > ends.length) [ends, hashes] = [grown(ends), grown(hashes)]
    while (start + bytes.length > kept.length) {
      const before = kept
      kept = new Uint8Array(before.length * 2)
      kept.set(before)
    }
    kept.set(bytes, start)
    ends[number - 1] = start + bytes.length
    hashes[number - 1] = hash
    return number
  }

  function spread(length: number): Int32Array<ArrayBuffer> {
    const wider = new Int32Array(length)
    for (let name = 1; name <= texts.length; name++) {
      const hash = hashes[name - 1] as number
      let place = (length - 1) & (hash ^ (hash >>> 15))
      while (wider[place] !== 0) place = (place + 1) & (length - 1)
      wider[place] = name
    }
    return wider
  }

  return { textOf }
}

function grown(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(numbers.length * 2)
  longer.set(numbers)
  return longer
}

function decoded(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8')
}
