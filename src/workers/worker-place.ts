import { messageOf } from '../errors.ts'
import type { Observer } from '../observe/observation.ts'
import type { Report, ToWorker } from './messages.ts'
import { type Ending, startWorker, type WorkerProcess } from './worker-handle.ts'

export interface PlaceOptions {
  /** Makes the message with which a worker begins now. */
  readonly begin: () => Omit<Extract<ToWorker, { type: 'begin' }>, 'type' | 'worker'>
  readonly onReport: (worker: number, report: Report) => void
  readonly onEnd: (worker: number) => void
  /** Writes whole lines of a worker's log. */
  readonly write: (lines: string) => void
  readonly observe: Observer
  /** A clock in monotonic milliseconds. Default `performance.now`. */
  readonly now?: () => number
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
/** A worker that has run for this many milliseconds did not fail to start. */
const STEADY_MS = 10_000

/**
 * The place of a worker, which one process after another may take.
 *
 * | State   | Event             | Next                                               |
 * |---------|-------------------|----------------------------------------------------|
 * | empty   | `run`             | taken                                              |
 * | taken   | its process ends  | waiting                                            |
 * | waiting | the pause is over | taken                                              |
 * | any     | `close`           | closed: once its process has ended, it stays empty |
 */
export class WorkerPlace {
  /** The number of the worker, from 1. */
  readonly worker: number
  readonly #options: PlaceOptions
  readonly #now: () => number
  #process: WorkerProcess | null = null
  #startedAt = 0
  /** How many processes in a row have ended since one ran for `STEADY_MS`. That one counts as the first. */
  #ends = 0
  #restart: NodeJS.Timeout | undefined
  #closed = false
  #draining = false

  constructor(worker: number, options: PlaceOptions) {
    this.worker = worker
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** `null` between two processes. */
  get process(): WorkerProcess | null {
    return this.#process
  }

  /** @throws Error if there is no memory for a process */
  run(): WorkerProcess {
    const { worker } = this
    const { begin, onReport, onEnd, write, observe } = this.#options
    this.#startedAt = this.#now()
    const order: ToWorker = { type: 'begin', worker, ...begin() }
    const process = startWorker({ begin: order, onReport: (report) => onReport(worker, report), write, now: this.#now })
    this.#process = process
    observe({ type: 'worker_started', worker, pid: process.pid })
    if (this.#draining) process.drain(true)
    void process.ended.then((ending) => {
      this.#process = null
      onEnd(worker)
      this.#ended(process.pid, ending)
    })
    return process
  }

  drain(on: boolean): void {
    this.#draining = on
    this.#process?.drain(on)
  }

  /** Closes the place: no process takes it any more. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#restart)
  }

  /** If there is no memory for a process, Node throws. It reports other shortages like the end of a process (26.10). */
  #runAgain(): void {
    try {
      this.run()
    } catch (error) {
      const { code = 'error' } = error as NodeJS.ErrnoException
      this.#ended(0, { reason: code, problem: messageOf(error) })
    }
  }

  #ended(pid: number, { reason, problem }: Ending): void {
    const restartMs = this.#closed ? null : this.#pause()
    this.#options.observe({ type: 'worker_ended', worker: this.worker, pid, reason, problem, restartMs })
    if (restartMs !== null) this.#restart = setTimeout(() => this.#runAgain(), restartMs)
  }

  #pause(): number {
    this.#ends = this.#now() - this.#startedAt >= STEADY_MS ? 1 : this.#ends + 1
    return Math.min(FIRST_PAUSE_MS * 2 ** (this.#ends - 1), LONGEST_PAUSE_MS)
  }
}
