import { expect } from 'vitest'
import type { Leniency, ResponseHead } from '../../../src/forward/client/contract.ts'
import { ResponseReader, type ResponseSink } from '../../../src/forward/client/response-parser.ts'

/** A response as a reader hands it on. */
export interface ParsedResponse {
  readonly status: number
  /** Raw, name and value in turns. */
  readonly fields: readonly string[]
  /** In latin1. */
  readonly body: string
  readonly trailers: readonly string[]
}

class Heard implements ResponseSink {
  readonly interim: number[] = []
  head: ResponseHead | null = null
  body = ''
  pieces = 0
  isLast = false
  trailers: readonly string[] | null = null

  onInterim(head: ResponseHead): void {
    this.interim.push(head.status)
  }
  onHead(head: ResponseHead): void {
    this.head = head
  }
  onBody(piece: Buffer | string, last: boolean): void {
    expect(piece.length).toBeGreaterThan(0)
    expect(this.isLast).toBe(false)
    this.isLast = last
    this.pieces++
    this.body += piece.toString('latin1')
  }
  onEnd(trailers: readonly string[]): void {
    expect(this.trailers).toBe(null)
    this.trailers = trailers
  }
  response(): ParsedResponse | null {
    if (this.head === null || this.trailers === null) return null
    const fields = this.head.names.flatMap(({ text }, i) => [text, this.head?.values[i] ?? ''])
    return { status: this.head.status, fields, body: this.body, trailers: this.trailers }
  }
}

export function newHeard(): Heard {
  return new Heard()
}

export interface Reading {
  readonly heard: Heard
  readonly reader: ResponseReader
  readonly error: Error | null
}

/**
 * Reads bytes in pieces of the given sizes, the last size over and over.
 * @param ends whether the end of the connection follows
 * @param bodiless as to HEAD
 * @param lenient what is let pass. Default nothing
 */
export function readResponse(
  bytes: Buffer,
  sizes: readonly number[] = [bytes.length],
  ends = false,
  bodiless = false,
  lenient: readonly Leniency[] = [],
): Reading {
  const heard = new Heard()
  const reader = new ResponseReader(32 * 1024, new Set(lenient))
  reader.expect(heard, bodiless)
  try {
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = Math.max(1, sizes[Math.min(i, sizes.length - 1)] ?? 1)
      // A copy that is spoiled afterwards: the reader may keep nothing of what it is given.
      const piece = Buffer.from(bytes.subarray(at, at + size))
      reader.read(piece)
      piece.fill('#')
      at += size
    }
    if (ends) reader.end()
    return { heard, reader, error: null }
  } catch (error) {
    return { heard, reader, error: error as Error }
  }
}

export function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}
