import { messageOf } from '../errors.ts'
import type { Observer } from '../observe/observation.ts'
import type { Report, ToWorker } from './messages.ts'
import { type Ending, startWorker, type WorkerProcess } from './worker-handle.ts'

/** Keeps a number of workers running. */
export interface Supervisor {
  /** Starts them all. @returns the URL they listen on @throws Error when one of them cannot begin */
  start(): Promise<string>
  /** Asks each for a report; resolves when all have come, at the latest after `deadlineMs`. */
  ask(deadlineMs: number): Promise<void>
  states(): readonly WorkerState[]
  /** Has them all take what `begin` gives now. @returns what kept a worker from it */
  reload(): Promise<string[]>
  /** Lets them all know why the last configuration file was not taken. */
  rejected(problems: readonly string[]): void
  drain(on: boolean): void
  /** Lets them finish, for `graceMs` at most. */
  stop(graceMs: number): Promise<void>
  kill(): void
}

export interface WorkerState {
  /** From 1. */
  readonly worker: number
  readonly ready: boolean
  readonly reasons: readonly string[]
}

export interface SupervisorOptions {
  readonly count: number
  /** What a worker is to begin with now. */
  readonly begin: () => Omit<Extract<ToWorker, { type: 'begin' }>, 'type' | 'worker'>
  readonly onReport: (worker: number, report: Report) => void
  readonly onEnd: (worker: number) => void
  /** Whole lines of a worker's log. */
  readonly write: (lines: string) => void
  readonly observe: Observer
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly now?: () => number
}

/** The place of a worker, which one process after another may take. */
interface Place {
  readonly worker: number
  process: WorkerProcess | null
  startedAt: number
  /** How often it ended since it last ran steadily. */
  ends: number
  restart: NodeJS.Timeout | undefined
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
/** A worker that says nothing for this long holds its connections and serves none of them: another takes its place. */
const HUNG_MS = 30_000
/** A worker that has run this long was no failure to start, in milliseconds. */
const STEADY_MS = 10_000

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { count, begin, onReport, onEnd, write, observe, now = () => performance.now() } = options
  const places = Array.from({ length: count }, (_, i): Place => {
    return { worker: i + 1, process: null, startedAt: 0, ends: 0, restart: undefined }
  })
  let stopping = false
  let draining = false

  function run(place: Place): WorkerProcess {
    const { worker } = place
    place.startedAt = now()
    const order: ToWorker = { type: 'begin', worker, ...begin() }
    const process = startWorker({ begin: order, onReport: (report) => onReport(worker, report), write, now })
    place.process = process
    observe({ type: 'worker_started', worker, pid: process.pid })
    if (draining) process.drain(true)
    void process.ended.then((ending) => {
      place.process = null
      onEnd(worker)
      ended(place, process.pid, ending)
    })
    return process
  }

  /** If there is no memory for a process, Node throws. Other shortages it reports like the end of a process (26.10). */
  function runAgain(place: Place): void {
    try {
      run(place)
    } catch (error) {
      const { code = 'error' } = error as NodeJS.ErrnoException
      ended(place, 0, { reason: code, problem: messageOf(error) })
    }
  }

  function ended(place: Place, pid: number, { reason, problem }: Ending): void {
    const restartMs = stopping ? null : pauseOf(place)
    observe({ type: 'worker_ended', worker: place.worker, pid, reason, problem, restartMs })
    if (restartMs !== null) place.restart = setTimeout(runAgain, restartMs, place)
  }

  function pauseOf(place: Place): number {
    place.ends = now() - place.startedAt >= STEADY_MS ? 1 : place.ends + 1
    return Math.min(FIRST_PAUSE_MS * 2 ** (place.ends - 1), LONGEST_PAUSE_MS)
  }

  const processes = (): WorkerProcess[] => places.flatMap(({ process }) => process ?? [])

  async function start(): Promise<string> {
    const [url = ''] = await Promise.all(places.map((place) => run(place).listening.catch(giveUp)))
    return url
  }

  /** Before the end of the worker is reported, which is not to speak of a restart then. */
  function giveUp(error: unknown): never {
    stopping = true
    throw error
  }

  async function reload(): Promise<string[]> {
    const { config, hash } = begin()
    const problems = places.map(async ({ worker, process }) => {
      const problem = (await process?.reload(config, hash)) ?? null
      return problem === null ? [] : [`worker ${worker}: ${problem}`]
    })
    return (await Promise.all(problems)).flat()
  }

  async function ask(deadlineMs: number): Promise<void> {
    await Promise.all(processes().map((process) => process.ask(deadlineMs)))
    for (const process of processes()) {
      if (process.silentMs() > HUNG_MS) process.kill(`no answer for ${HUNG_MS / 1000} s`)
    }
  }

  async function stop(graceMs: number): Promise<void> {
    stopping = true
    for (const { restart } of places) clearTimeout(restart)
    for (const process of processes()) process.stop()
    const timer = setTimeout(kill, graceMs)
    await Promise.all(processes().map(({ ended }) => ended))
    clearTimeout(timer)
  }

  function kill(): void {
    for (const process of processes()) process.kill()
  }

  return {
    start,
    ask,
    states: () => places.map(({ worker, process }) => ({ worker, ...(process?.state() ?? ENDED) })),
    reload,
    rejected(problems) {
      for (const process of processes()) process.rejected(problems)
    },
    drain(on) {
      draining = on
      for (const process of processes()) process.drain(on)
    },
    stop,
    kill,
  }
}

const ENDED = { ready: false, reasons: ['has ended and is started again'] }
