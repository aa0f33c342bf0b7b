import type { Readable } from 'node:stream'

const NEWLINE = 10

/**
 * Hands on the whole lines of a stream, many at a time. Bytes after the last newline wait for their rest. At the end
 * they are half a line of a process that was killed, and are left out.
 */
export function relayLines(stream: Readable, write: (lines: string) => void): void {
  let begun: Buffer[] = []
  stream.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(NEWLINE) + 1
    if (end > 0) {
      write(Buffer.concat([...begun, chunk.subarray(0, end)]).toString())
      begun = []
    }
    if (end < chunk.length) begun.push(chunk.subarray(end))
  })
}
