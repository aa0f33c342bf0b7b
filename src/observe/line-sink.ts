import { closeSync, openSync } from 'node:fs'
import { unblocked } from '../node/unblocked-output.ts'
import { LineBacklog, linesIn } from './line-backlog.ts'
import { isFull, type Written, writeAll, writeAllSync } from './whole-write.ts'

/**
 * Collects log lines and writes many with one call, off the event loop.
 *
 * pino's own destination (sonic-boom 4.2.1) is not used: on each line it asks for the byte length of its growing buffer, which copies that
 * buffer again and again (docs/contributing/decisions/log-sink.md). And its `flushSync` repeats a write for ever when the reader of the
 * pipe has gone, so that the process never exits.
 */
export interface LineSink {
  /** Takes whole lines, each with its newline. Never throws and never blocks. */
  write(line: string): void
  /** Resolves when all lines so far are written, or given up. */
  flush(): Promise<void>
  /** Writes the rest at once, at the end of the process. */
  flushSync(): void
  /**
   * Flushes, unless the reader takes nothing any more, and closes the file if the sink opened it.
   * @returns how many lines are lost and reported by no line of the log
   */
  close(): Promise<number>
}

export interface LineSinkOptions {
  /** The bytes that must wait before a write. Default 65536, the size of a Linux pipe. */
  readonly chunk?: number
  /** The longest wait of a line, in milliseconds. Default 500. */
  readonly flushMs?: number
  /** The most bytes that wait for a stalled reader. Lines beyond them are dropped. Default 16 MiB. */
  readonly limit?: number
  /** Hears how many lines are never written, once that is known. Lines that `flushSync` failed to write are left out. */
  readonly onLost?: (lines: number) => void
}

/** @param destination a file descriptor, or the path of a file to append to */
export function openLineSink(destination: number | string, options: LineSinkOptions = {}): LineSink {
  const { chunk = 65_536, flushMs = 500, limit = 16 * 1024 * 1024, onLost = () => {} } = options
  const isOurs = typeof destination === 'string'
  const fd = isOurs ? openSync(destination, 'a') : unblocked(destination)
  return new FileSink(fd, isOurs, { chunk, flushMs, limit, onLost })
}

/**
 * | State  | Event                                      | Next                                               |
 * |--------|--------------------------------------------|----------------------------------------------------|
 * | open   | a write finds the disk full                | full: only `flush` and the timer try again         |
 * | full   | a write is done                            | open                                               |
 * | any    | a write fails otherwise                    | broken: waiting lines and later ones are lost      |
 * | any    | `close`, after the last flush              | broken                                             |
 */
class FileSink implements LineSink {
  readonly #fd: number
  readonly #isOurs: boolean
  readonly #options: Required<LineSinkOptions>
  readonly #backlog = new LineBacklog()
  /** `null` while nothing waits, so that an idle process is not woken. */
  #timer: NodeJS.Timeout | null = null
  #state: 'open' | 'full' | 'broken' = 'open'
  /** Dropped lines that no line of the log reports yet. */
  #dropped = 0
  #isClosing = false
  #writing: Promise<void> | null = null

  /** @param isOurs whether the sink closes the file */
  constructor(fd: number, isOurs: boolean, options: Required<LineSinkOptions>) {
    this.#fd = fd
    this.#isOurs = isOurs
    this.#options = options
  }

  write(lines: string): void {
    const { chunk, limit } = this.#options
    if (this.#state === 'broken' || this.#backlog.bytes >= limit) {
      this.#drop(lines)
      return
    }
    this.#timer ??= this.#await()
    this.#reportDropped()
    this.#backlog.add(lines)
    if (this.#backlog.bytes >= chunk && this.#state === 'open') this.#start()
  }

  /** Flushes until all is written, or the disk is full. */
  async flush(): Promise<void> {
    do await this.#start()
    while (this.#state !== 'full' && (this.#writing !== null || this.#isBehind()))
  }

  flushSync(): void {
    try {
      while (this.#isBehind()) writeAllSync(this.#fd, this.#next())
    } catch {
      this.#giveUp(0)
    }
  }

  async close(): Promise<number> {
    clearTimeout(this.#timer ?? undefined)
    this.#isClosing = true
    await this.flush()
    if (this.#state === 'full') this.#giveUp(0)
    this.#state = 'broken'
    if (this.#isOurs) closeSync(this.#fd)
    return this.#dropped
  }

  #drop(lines: string): void {
    const count = lines.split('\n').length - 1
    this.#dropped += count
    this.#options.onLost(count)
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return
    this.#backlog.add(droppedLine(this.#dropped))
    this.#dropped = 0
  }

  #isBehind(): boolean {
    return this.#state !== 'broken' && (this.#backlog.bytes > 0 || this.#dropped > 0)
  }

  #start(): Promise<void> {
    if (this.#writing === null && this.#isBehind()) {
      const isLast = (): boolean => this.#isClosing
      this.#writing = writeAll(this.#fd, this.#next(), isLast).then((written) => this.#finish(written))
    }
    return this.#writing ?? Promise.resolve()
  }

  /** Keeps a timer as long as lines wait. */
  #await(): NodeJS.Timeout {
    const look = (): void => {
      this.#start()
      this.#timer = this.#isBehind() ? this.#await() : null
    }
    return setTimeout(look, this.#options.flushMs).unref()
  }

  #next(): Buffer {
    if (this.#backlog.isLastBlock) this.#reportDropped()
    return this.#backlog.take()
  }

  #finish({ left, error }: Written): void {
    this.#writing = null
    if (this.#state !== 'broken') this.#state = isFull(error) ? 'full' : 'open'
    if (left !== null && isFull(error)) this.#backlog.putBack(left)
    else if (error !== null) this.#giveUp(left === null ? 0 : linesIn(left))
    else if (this.#backlog.bytes >= this.#options.chunk) this.#start()
    if (this.#isBehind()) this.#timer ??= this.#await()
  }

  /** A reader that has gone (EPIPE) does not come back, and a gateway without a log is better than no gateway. */
  #giveUp(linesLeft: number): void {
    this.#state = 'broken'
    const lost = linesLeft + this.#backlog.clear()
    this.#dropped += lost
    this.#options.onLost(lost)
  }
}

/** The line that replaces lost lines. */
export function droppedLine(count: number): string {
  return `${JSON.stringify({ level: 40, time: Date.now(), count, msg: 'log lines dropped: their reader is too slow, or the disk was full' })}\n`
}
