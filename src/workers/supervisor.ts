import type { WorkerProcess } from './worker-handle.ts'
import { type PlaceOptions, WorkerPlace } from './worker-place.ts'

/** Keeps a number of workers running. */
export interface Supervisor {
  /** Starts all workers. @returns the URL they listen on @throws Error if one of them cannot begin */
  start(): Promise<string>
  /** Asks each worker for a report. Resolves when all have come, at the latest after `deadlineMs`. */
  ask(deadlineMs: number): Promise<void>
  states(): readonly WorkerState[]
  /** Sends all workers what `begin` now returns. @returns the reasons of workers that did not accept it */
  reload(): Promise<string[]>
  /** Reports to all workers why the last configuration file was not accepted. */
  rejected(problems: readonly string[]): void
  drain(on: boolean): void
  /** Lets the workers finish, for `graceMs` at most. */
  stop(graceMs: number): Promise<void>
  kill(): void
}

export interface WorkerState {
  /** The number of the worker, from 1. */
  readonly worker: number
  readonly ready: boolean
  readonly reasons: readonly string[]
}

export interface SupervisorOptions extends PlaceOptions {
  readonly count: number
}

/** A worker that is silent for this long holds its connections and serves none of them. It is replaced. */
const HUNG_MS = 30_000
const ENDED = { ready: false, reasons: ['has ended and is started again'] }

export function createSupervisor({ count, ...options }: SupervisorOptions): Supervisor {
  const places = Array.from({ length: count }, (_, i) => new WorkerPlace(i + 1, options))
  const processes = (): WorkerProcess[] => places.flatMap(({ process }) => process ?? [])

  async function start(): Promise<string> {
    const [url = ''] = await Promise.all(places.map((place) => place.run().listening.catch(giveUp)))
    return url
  }

  /** Closes all places. It is called before the end of the worker is reported, so that the report announces no restart. */
  function giveUp(error: unknown): never {
    for (const place of places) place.close()
    throw error
  }

  async function reload(): Promise<string[]> {
    const { config, hash } = options.begin()
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
    for (const place of places) place.close()
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
      for (const place of places) place.drain(on)
    },
    stop,
    kill,
  }
}
