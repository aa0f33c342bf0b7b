import { closeSync, openSync, write, writeSync } from 'node:fs'
import { unblocked } from '../node/unblocked-output.ts'

/**
 * Collects log lines and writes many with one call, off the event loop.
 *
 * Why not pino's own destination (sonic-boom 4.2.1): it asks for the byte length of its growing buffer on each line,
 * which copies that buffer again and again. One access line down a pipe, CPU of all threads: 6.7 us through
 * `{ sync: false, minLength: 4096 }`, 5.5 us through `sync: true`, 3.5 us through this. And its `flushSync` repeats a
 * write for ever when the reader of the pipe has gone, so that the process never exits.
 */
export interface LineSink {
  /** Takes whole lines, each with its newline. Never throws and never blocks. */
  write(line: string): void
  /** Resolves when everything taken so far is written, or given up. */
  flush(): Promise<void>
  /** For the end of the process: writes what is left at once. */
  flushSync(): void
  /** Flushes, unless the reader takes nothing any more, and closes the file where the sink opened it. */
  close(): Promise<void>
}

export interface LineSinkOptions {
  /** Write as soon as this many bytes wait. Default 65536, the size of a Linux pipe. */
  readonly chunk?: number
  /** And at least this often, in milliseconds. Default 500. */
  readonly flushMs?: number
  /** Drop lines while this many bytes wait for a reader that has stalled. Default 16 MiB. */
  readonly limit?: number
  /** Hears how many lines are never written, as soon as that is known; not of those that the end of the process loses. */
  readonly onLost?: (lines: number) => void
}

/** Between two tries to write into a full pipe, in milliseconds: 13 MB a second pass, and a reader that stalls costs little. */
const RETRY_MS = 5
/** Bytes of a block. Lines become bytes at once: a string that grows to as much costs twice the time by its garbage. */
const BLOCK = 65_536

/** @param destination a file descriptor, or the path of a file to append to */
export function openLineSink(
  destination: number | string,
  { chunk = 65_536, flushMs = 500, limit = 16 * 1024 * 1024, onLost = () => {} }: LineSinkOptions = {},
): LineSink {
  const fd = typeof destination === 'number' ? unblocked(destination) : openSync(destination, 'a')
  let block = Buffer.allocUnsafeSlow(BLOCK)
  let filled = 0
  /** What comes before the block, and its bytes. */
  const full: Buffer[] = []
  let behind = 0
  let dropped = 0
  let broken = false
  let closing = false
  /** Tried again with the next flush. */
  let diskFull = false
  let writing: Promise<void> | null = null
  const timer = setInterval(start, flushMs).unref()
  const waiting = (): number => behind + filled
  const isBehind = (): boolean => !broken && (waiting() > 0 || dropped > 0)

  function take(lines: string): void {
    if (broken || waiting() >= limit) {
      drop(lines)
      return
    }
    reportDropped()
    put(lines)
    if (waiting() >= chunk && !diskFull) start()
  }

  function drop(lines: string): void {
    const count = lines.split('\n').length - 1
    dropped += count
    onLost(count)
  }

  function put(lines: string): void {
    if (!fits(lines, BLOCK - filled)) seal()
    if (fits(lines, BLOCK)) filled += block.write(lines, filled)
    else queue(Buffer.from(lines))
  }

  function seal(): void {
    if (filled === 0) return
    queue(block.subarray(0, filled))
    block = Buffer.allocUnsafeSlow(BLOCK)
    filled = 0
  }

  function queue(bytes: Buffer): void {
    full.push(bytes)
    behind += bytes.length
  }

  function reportDropped(): void {
    if (dropped === 0) return
    const count = dropped
    dropped = 0
    put(droppedLine(count))
  }

  function start(): Promise<void> {
    if (writing === null && isBehind()) writing = writeAll(fd, next(), () => closing).then(finished)
    return writing ?? Promise.resolve()
  }

  function next(): Buffer {
    if (full.length === 0) {
      reportDropped()
      seal()
    }
    const bytes = full.shift() as Buffer
    behind -= bytes.length
    return bytes
  }

  function finished({ left, error }: Written): void {
    writing = null
    diskFull = isFull(error)
    if (left !== null && diskFull) {
      full.unshift(left)
      behind += left.length
    } else if (error !== null) giveUp(left)
    else if (waiting() >= chunk) start()
  }

  /** A reader that has gone (EPIPE) does not come back, and a gateway without a log is better than no gateway. */
  function giveUp(left: Buffer | null): void {
    broken = true
    const lost = [left ?? NOTHING, ...full.splice(0), block.subarray(0, filled)]
    onLost(lost.reduce((sum, bytes) => sum + linesIn(bytes), 0))
  }

  /** Until all is written, or the disk is full. */
  async function flush(): Promise<void> {
    do await start()
    while (!diskFull && (writing !== null || isBehind()))
  }

  function flushSync(): void {
    try {
      while (isBehind()) writeAllSync(fd, next())
    } catch {
      giveUp(null)
    }
  }

  async function close(): Promise<void> {
    clearInterval(timer)
    closing = true
    await flush()
    broken = true
    if (fd !== destination) closeSync(fd)
  }

  return { write: take, flush, flushSync, close }
}

const NOTHING = Buffer.alloc(0)

function linesIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count++
  return count
}

/** UTF-8 takes at most three bytes for a unit of a string. */
function fits(text: string, room: number): boolean {
  return 3 * text.length <= room || Buffer.byteLength(text) <= room
}

function droppedLine(count: number): string {
  return `${JSON.stringify({ level: 40, time: Date.now(), count, msg: 'log lines dropped: their reader is too slow, or the disk was full' })}\n`
}

/** What became of a write; `left` are the bytes that were not taken. */
interface Written {
  readonly left: Buffer | null
  readonly error: NodeJS.ErrnoException | null
}

/** Never rejects. @param isLast whether a reader that takes nothing is given up after LAST_WAIT_MS */
function writeAll(fd: number, bytes: Buffer, isLast: () => boolean): Promise<Written> {
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
function isFull(error: NodeJS.ErrnoException | null): boolean {
  return error?.code === 'ENOSPC' || error?.code === 'EDQUOT'
}

/** How long the end of the process waits for a reader that is slow, in milliseconds. */
const LAST_WAIT_MS = 1000

/** @throws the error of the write; EAGAIN when the reader took nothing more for LAST_WAIT_MS */
function writeAllSync(fd: number, bytes: Buffer): void {
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
