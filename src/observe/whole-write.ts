import { write, writeSync } from 'node:fs'

/** Between two tries to write into a full pipe, in milliseconds: 13 MB a second pass, and a reader that stalls costs little. */
const RETRY_MS = 5
/** How long the end of the process waits for a reader that is slow, in milliseconds. */
const LAST_WAIT_MS = 1000

/** What became of a write; `left` are the bytes that were not taken. */
export interface Written {
  readonly left: Buffer | null
  readonly error: NodeJS.ErrnoException | null
}

/** Never rejects. @param isLast whether a reader that takes nothing is given up after LAST_WAIT_MS */
export function writeAll(fd: number, bytes: Buffer, isLast: () => boolean): Promise<Written> {
  return new Promise((resolve) => {
    const step = (offset: number, waited = 0): void => {
      write(fd, bytes, offset, bytes.length - offset, null, (error, written) => {
        if (error?.code === 'EAGAIN' && waited < LAST_WAIT_MS) {
          setTimeout(step, RETRY_MS, offset, isLast() ? waited + RETRY_MS : 0)
        } else if (error) resolve({ left: bytes.subarray(offset), error })
        else if (offset + written < bytes.length) step(offset + written)
        else resolve({ left: null, error: null })
      })
    }
    step(0)
  })
}

/** The disk, or what its owner may use of it. */
export function isFull(error: NodeJS.ErrnoException | null): boolean {
  return error?.code === 'ENOSPC' || error?.code === 'EDQUOT'
}

/** @throws the error of the write; EAGAIN when the reader took nothing more for LAST_WAIT_MS */
export function writeAllSync(fd: number, bytes: Buffer): void {
  let waited = 0
  for (let offset = 0; offset < bytes.length; ) {
    try {
      offset += writeSync(fd, bytes, offset)
      waited = 0
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || waited >= LAST_WAIT_MS) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      waited += RETRY_MS
    }
  }
}
