import { write, writeSync } from 'node:fs'

/** The time between two tries to write into a full pipe, in milliseconds: 13 MB a second pass, and waiting costs little. */
const RETRY_MS = 5
/** How long the end of the process waits for a slow reader, in milliseconds. */
const LAST_WAIT_MS = 1000

/** The result of a write; `left` are the bytes that were not taken. */
export interface Written {
  readonly left: Buffer | null
  readonly error: NodeJS.ErrnoException | null
}

/** Never rejects. @param isLast whether to give up a reader that takes nothing for LAST_WAIT_MS */
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

/** Whether the disk is full, or the quota of its user. */
export function isFull(error: NodeJS.ErrnoException | null): boolean {
  return error?.code === 'ENOSPC' || error?.code === 'EDQUOT'
}

/** @throws the error of the write; EAGAIN if the reader took nothing for LAST_WAIT_MS */
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
