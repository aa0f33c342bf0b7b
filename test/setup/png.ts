import { crc32, deflateSync, inflateSync } from 'node:zlib'

/** Makes the PNG of a screen several times smaller: its most frequent colours as a palette of 256, and a better deflate. */

interface Pixels {
  readonly width: number
  readonly height: number
  /** `0xRRGGBB` of each, row by row. */
  readonly colours: Uint32Array
}

export function shrunk(png: Buffer): Buffer {
  const { width, height, colours } = decode(png)
  const palette = mostFrequent(colours, 256)
  const indexOf = new Map(palette.map((colour, i) => [colour, i]))
  const rows = Buffer.alloc((width + 1) * height)
  colours.forEach((colour, i) => {
    let index = indexOf.get(colour)
    if (index === undefined) {
      index = nearest(colour, palette)
      indexOf.set(colour, index)
    }
    rows[i + Math.floor(i / width) + 1] = index
  })
  const header = Buffer.from(png.subarray(16, 29))
  header.set([8, 3], 8)
  const colourBytes = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  const data = deflateSync(rows, { level: 9, memLevel: 9 })
  return Buffer.concat([
    png.subarray(0, 8),
    chunk('IHDR', header),
    chunk('PLTE', colourBytes),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** What browsers write: 8 bits, RGB or RGBA, not interlaced (PNG specification, chapters 4.6 and 9). */
function decode(png: Buffer): Pixels {
  const [width, height, depth, type, interlaced] = [
    png.readUInt32BE(16),
    png.readUInt32BE(20),
    png[24],
    png[25],
    png[28],
  ]
  if (depth !== 8 || (type !== 2 && type !== 6) || interlaced !== 0) throw new Error('not a PNG that we know')
  const size = type === 2 ? 3 : 4
  const parts: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  const data = inflateSync(Buffer.concat(parts))
  const colours = new Uint32Array(width * height)
  let above: Uint8Array = new Uint8Array(width * size)
  for (let y = 0; y < height; y++) {
    const start = y * (width * size + 1)
    const row = data.subarray(start + 1, start + 1 + width * size)
    unfilter(data[start] ?? 0, row, above, size)
    for (let x = 0; x < width; x++) colours[y * width + x] = row.readUIntBE(x * size, 3)
    above = row
  }
  return { width, height, colours }
}

function unfilter(filter: number, row: Uint8Array, above: Uint8Array, size: number): void {
  for (let i = 0; i < row.length; i++) {
    const left = i < size ? 0 : (row[i - size] ?? 0)
    const up = above[i] ?? 0
    const corner = i < size ? 0 : (above[i - size] ?? 0)
    const guesses = [0, left, up, (left + up) >> 1, paeth(left, up, corner)]
    row[i] = (row[i] ?? 0) + (guesses[filter] ?? 0)
  }
}

function paeth(left: number, up: number, corner: number): number {
  const sum = left + up - corner
  const [l, u, c] = [Math.abs(sum - left), Math.abs(sum - up), Math.abs(sum - corner)]
  if (l <= u && l <= c) return left
  return u <= c ? up : corner
}

function mostFrequent(colours: Uint32Array, most: number): number[] {
  const counts = new Map<number, number>()
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([colour]) => colour)
}

function nearest(colour: number, palette: readonly number[]): number {
  const distance = (other: number): number => {
    const [r, g, b] = [
      (colour >> 16) - (other >> 16),
      ((colour >> 8) & 255) - ((other >> 8) & 255),
      (colour & 255) - (other & 255),
    ]
    return r * r + g * g + b * b
  }
  return palette.reduce((best, other, i) => (distance(other) < distance(palette[best] ?? 0) ? i : best), 0)
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
