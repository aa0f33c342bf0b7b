import type { ChildProcess } from 'node:child_process'
import cluster from 'node:cluster'
import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SetupError } from '../app/setup-error.ts'
import type { Config } from '../config/config.ts'
import { inParts } from '../config/parts.ts'
import { forgetUnborn } from '../node/unborn-worker.ts'
import { closeUntaken } from '../node/worker-handoff.ts'
import { relayLines } from './lines.ts'
import type { FromWorker, Report, ToWorker } from './messages.ts'

/** The extension of the program's files: `.ts` for sources, `.js` for built files. */
const EXTENSION = extname(import.meta.filename)

/** How a worker ended; `problem` is the reason that it gave. */
export interface Ending {
  readonly reason: string
  readonly problem: string | null
}

/** A worker as the primary sees it: a process that was asked to begin. */
export interface WorkerProcess {
  readonly pid: number
  /** The URL that the worker listens on. Rejects with the reason of the worker if it ends before it listens. */
  readonly listening: Promise<string>
  /** How the worker ended. Resolves when everything that it wrote has been read. */
  readonly ended: Promise<Ending>
  /** Whether the worker is ready for requests, by its last report. Without a recent report it is not ready. */
  state(): { readonly ready: boolean; readonly reasons: readonly string[] }
  /** Asks for a report. Resolves when the report has come, at the latest after `deadlineMs`. */
  ask(deadlineMs: number): Promise<void>
  /** @returns why the configuration was not accepted; `null` if it was, or the process has ended */
  reload(config: Config, hash: string): Promise<string | null>
  rejected(problems: readonly string[]): void
  drain(on: boolean): void
  /** Asks the worker to finish its requests and to end. */
  stop(): void
  /** How long ago the worker sent its last report, or was started, in milliseconds. */
  silentMs(): number
  /** Ends the worker at once, by SIGKILL. @param why the reason for the report of its end. Default: the signal */
  kill(why?: string): void
}

export interface WorkerProcessOptions {
  readonly begin: Extract<ToWorker, { type: 'begin' }>
  readonly onReport: (report: Report) => void
  /** Writes whole lines of the worker's log. */
  readonly write: (lines: string) => void
  /** A clock in monotonic milliseconds. */
  readonly now: () => number
}

/** How long a report is valid, in milliseconds: one is asked for each second. */
const REPORT_MS = 5000
/** The advice for a worker that could not say why it ends. */
const CURE =
  'see what it wrote before that; SIGKILL that nobody sent is for want of memory: give it more, or lower workers'
const RELOAD_MS = 10_000
const UNANSWERED = `has not answered within ${RELOAD_MS / 1000} s: it takes the configuration when it goes on, or is replaced by one that has it`

type Failed = Extract<FromWorker, { type: 'failed' }>

/** @throws Error if there is no memory for a process */
export function startWorker({ begin, onReport, write, now }: WorkerProcessOptions): WorkerProcess {
  const child = fork()
  // If no file descriptor is free, there is no process and no channel to it (Node 26.10). An `error` event follows.
  if (child.connected) closeUntaken(child)
  if (child.stdout) relayLines(child.stdout, write)
  const listening = Promise.withResolvers<string>()
  // A caller that does not wait for `listening` learns of the end by `ended`.
  listening.promise.catch(() => {})
  const questions = new Map<number, () => void>()
  let asked = 0
  let reloading: { readonly hash: string; readonly answered: (problem: string | null) => void } | null = null
  let failed: Failed | null = null
  let killedFor: string | undefined
  const startedAt = now()
  let latest: { readonly report: Report; readonly at: number } | null = null

  child.on('message', (message: FromWorker) => {
    if (message.type === 'listening') listening.resolve(message.url)
    else if (message.type === 'failed') failed = message
    else if (message.type === 'reloaded') {
      // A late message responds to an earlier reload.
      if (message.hash === reloading?.hash) reloading.answered(message.problem)
    } else {
      latest = { report: message.report, at: now() }
      onReport(message.report)
      questions.get(message.id)?.()
    }
  })
  const ended = endOf(child).then((ending) => {
    const reason = killedFor ?? ending
    listening.reject(
      failed === null
        ? new Error(`worker ${begin.worker} ended (${reason}) before it listened: ${CURE}`)
        : errorOf(failed),
    )
    for (const answered of questions.values()) answered()
    reloading?.answered(null)
    return { reason, problem: failed?.problem ?? null }
  })
  let sent: Promise<void> = Promise.resolve()
  send(begin)

  /** Messages go out one after another: a later one never comes between the parts of a configuration. */
  function send(message: ToWorker): void {
    sent = sent.then(() => ('config' in message ? postConfig(child, message) : post(child, message)))
  }

  async function ask(deadlineMs: number): Promise<void> {
    const id = asked++
    const answered = Promise.withResolvers<void>()
    const timer = setTimeout(answered.resolve, deadlineMs)
    questions.set(id, answered.resolve)
    send({ type: 'report', id })
    await answered.promise
    questions.delete(id)
    clearTimeout(timer)
  }

  async function reload(config: Config, hash: string): Promise<string | null> {
    const response = new Promise<string | null>((answered) => {
      reloading = { hash, answered }
    })
    send({ type: 'reload', config, hash })
    return Promise.race([response, sleep(RELOAD_MS, UNANSWERED, { ref: false })])
  }

  function state(): { ready: boolean; reasons: readonly string[] } {
    if (latest === null) return { ready: false, reasons: ['starting'] }
    if (now() - latest.at > REPORT_MS) return { ready: false, reasons: ['does not answer'] }
    return latest.report
  }

  return {
    pid: child.pid ?? 0,
    listening: listening.promise,
    ended,
    state,
    ask,
    reload,
    rejected: (problems) => send({ type: 'rejected', problems }),
    drain: (on) => send({ type: 'drain', on }),
    stop: () => send({ type: 'stop' }),
    silentMs: () => now() - (latest?.at ?? startedAt),
    kill: (why) => {
      killedFor = why
      child.kill('SIGKILL')
    },
  }
}

/** Sends a message. A worker that is ending may miss it, which does no harm. */
function post(child: ChildProcess, message: ToWorker): Promise<void> {
  return new Promise((resolve) => {
    if (child.connected) child.send(message, () => resolve())
    else resolve()
  })
}

async function postConfig(child: ChildProcess, message: Extract<ToWorker, { config: Config }>): Promise<void> {
  const { rest, rules } = inParts(message.config)
  for (const part of rules) await post(child, { type: 'rules', rules: part })
  await post(child, { ...message, config: rest })
}

function errorOf({ problem, path }: Failed): Error {
  return path === null ? new Error(problem) : new SetupError(path, problem)
}

/** @returns the signal, `exit N`, or why there never was a process */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    // Unlike `exit`, `close` comes after everything that was written has been read.
    child.once('close', (code, signal) => resolve(signal ?? `exit ${code}`))
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) resolve(error.code ?? 'error')
    })
  })
}

/**
 * The workers share one listening socket, which the primary holds: it hands each new connection to the next worker that
 * has taken its last one. With a socket for each worker (SO_REUSEPORT) a hash would choose the worker, which spreads a small
 * number of connections unevenly. A stuck worker would go on getting connections, and those in the queue of a worker that ends would be reset.
 */
function fork(): ChildProcess {
  cluster.schedulingPolicy = cluster.SCHED_RR
  cluster.setupPrimary({
    exec: join(import.meta.dirname, `worker-main${EXTENSION}`),
    args: [],
    // An import in the program itself would only run after all its other imports.
    execArgv: [...process.execArgv, '--import', join(import.meta.dirname, `../node/inspector-signal${EXTENSION}`)],
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  // A message to a worker that has just died causes an error event. The report of its end is enough.
  const worker = cluster.fork().on('error', () => {})
  forgetUnborn(worker)
  return worker.process
}
