import { type Logger, pino } from 'pino'
import { STATUS_OF } from '../errors.ts'
import { type LineSink, openLineSink } from './line-sink.ts'
import { lineOf, type Told } from './log-lines.ts'
import type { Observation, Observer, RequestDone } from './observation.ts'
import { plainError, scrub } from './scrub.ts'
import { createThrottle } from './throttle.ts'

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'

export interface LogOptions {
  /** The least level that is written. Default `info`. */
  readonly level?: LogLevel
  /** Which requests get their line: `errors` are those that failed or were answered with 500 or above. Default `all`. */
  readonly requests?: 'all' | 'errors' | 'none'
  /** A file descriptor, or the path of a file to append to. Default 1, the standard output. */
  readonly destination?: number | string
  /** Failures of the store are told at most once in this time for each operation and reason, in milliseconds. Default 10000. */
  readonly storeFailureMs?: number
}

export interface Log {
  readonly observer: Observer
  /** Resolves when every line so far is written. */
  flush(): Promise<void>
  /** Flushes and stops writing. */
  close(): Promise<void>
}

type StoreFailed = Extract<Observation, { type: 'store_failed' }>

/** The reader of observations that writes JSON lines as pino does: numeric `level`, `time` in milliseconds, `msg`. */
export function createLog(options: LogOptions = {}): Log {
  const { level = 'info', requests = 'all', destination = 1, storeFailureMs = 10_000 } = options
  const sink = openLineSink(destination)
  const logger = pino({ level, base: null, serializers: { err: plainError } }, sink)
  const failures = createThrottle<StoreFailed>(storeFailureMs, ({ operation, reason, message }, count) =>
    logger.error({ operation, reason, count, detail: scrub(message) }, 'the store fails'),
  )
  const writeRequest = requestWriter(requests, logger, sink)
  process.on('exit', sink.flushSync)

  return {
    observer: function logObservation(observation) {
      switch (observation.type) {
        case 'request':
          writeRequest(observation)
          break
        case 'store_failed':
          failures.add(`${observation.operation} ${observation.reason}`, observation)
          break
        case 'store_connected':
        case 'store_recovered':
          // The failures still untold belong before the line that says it is over.
          failures.flush()
          tell(observation, logger)
          break
        default:
          tell(observation, logger)
      }
    },
    flush: () => sink.flush(),
    async close() {
      failures.flush()
      await sink.close()
      process.off('exit', sink.flushSync)
    },
  }
}

function tell(observation: Told, logger: Logger): void {
  const line = lineOf(observation)
  if (line !== null) logger[line.level](line.fields, line.msg)
}

const INFO = 30
const WARN = 40

/**
 * The access line is the one line whose cost counts, so it goes around pino: 1.5 us by one JSON.stringify against
 * 3.5 us by pino, which stringifies each key and value for itself (both down a pipe, CPU of all threads).
 */
function requestWriter(which: 'all' | 'errors' | 'none', logger: Logger, sink: LineSink): (done: RequestDone) => void {
  if (which === 'none') return () => {}
  const info = logger.isLevelEnabled('info')
  const warn = logger.isLevelEnabled('warn')
  return function writeRequest(done) {
    const bad = isOurFault(done)
    if (bad ? !warn : !info) return
    if (which === 'errors' && !bad && done.clientStatus < 500) return
    sink.write(requestLine(done, bad ? WARN : INFO))
  }
}

/** A failed forward, or a 5xx that the gateway itself gave. */
function isOurFault({ outcome, error }: RequestDone): boolean {
  return outcome === 'failed' || (error !== null && STATUS_OF[error] >= 500)
}

function requestLine(done: RequestDone, level: number): string {
  const line = {
    level,
    time: Date.now(),
    requestId: done.requestId,
    user: done.user,
    method: done.method,
    route: done.route,
    category: done.category,
    cost: done.cost,
    outcome: done.outcome,
    httpStatus: done.httpStatus,
    clientStatus: done.clientStatus,
    durationMs: Math.round(done.durationMs * 1000) / 1000,
    error: done.error ?? undefined,
    reason: done.reason === null ? undefined : scrub(done.reason),
    msg: 'request',
  }
  return `${JSON.stringify(line)}\n`
}
