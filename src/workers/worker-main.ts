import cluster from 'node:cluster'
import { closingMs } from '../app/closing.ts'
import { SetupError } from '../app/setup-error.ts'
import type { Config, RouteConfig } from '../config/config.ts'
import { messageOf } from '../errors.ts'
import { UNREAD } from '../failures/adaptive.ts'
import type { FromWorker, Report, ToWorker } from './messages.ts'
import { createWorker, type Worker } from './worker.ts'

/**
 * The process of a worker. The primary starts it, and it obeys the primary's messages one after another. It ends on
 * request, on SIGTERM, or when the primary has gone. SIGINT and SIGHUP, which a terminal sends to all, are left to the
 * primary.
 */

/** The most time for requests under way after the primary has died, in milliseconds. */
const ORPHAN_MS = 5000
const STARTING: Report = { ready: false, reasons: ['starting'], adaptive: UNREAD, metrics: [] }

let running: Worker | null = null
/** The rules so far of the configuration that is being sent. */
let rules: RouteConfig[] = []
let drainTimeoutMs = ORPHAN_MS
/** The most time to settle and close after those requests, in milliseconds. A configuration may need less. */
const MOST_CLOSING_MS = 5000
let closesWithinMs = 0
let ending: Promise<void> | null = null
let work: Promise<void> = Promise.resolve()

process.on('message', (message: ToWorker) => {
  if (message.type === 'report') void report(message.id)
  else work = work.then(() => obey(message))
})
process.on('SIGINT', () => {})
process.on('SIGHUP', () => {})
process.on('SIGTERM', () => {
  work = work.then(() => end())
})
// Node would otherwise exit at once, and break off requests under way.
if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
process.on('disconnect', () => {
  // The worker may be ending already, with more patience than an orphan should have.
  setTimeout(() => process.exit(1), ORPHAN_MS + closesWithinMs).unref()
  work = work.then(() => end({ delayMs: 0, timeoutMs: Math.min(drainTimeoutMs, ORPHAN_MS) }))
})

async function obey(message: Exclude<ToWorker, { type: 'report' }>): Promise<void> {
  if ('config' in message) {
    drainTimeoutMs = message.config.drain.timeoutMs
    closesWithinMs = Math.min(closingMs(message.config), MOST_CLOSING_MS)
  }
  if (message.type === 'rules') rules.push(...message.rules)
  else if (message.type === 'begin') await begin({ ...message, config: withRules(message.config) })
  else if (message.type === 'drain') running?.drain(message.on)
  else if (message.type === 'rejected') running?.rejected(message.problems)
  // The end takes as long as requests do, and later messages must not wait for it.
  else if (message.type === 'stop') void end()
  else {
    const problem = (await running?.reload(withRules(message.config), message.hash)) ?? null
    await send({ type: 'reloaded', hash: message.hash, problem })
  }
}

function withRules(config: Config): Config {
  const routes = rules
  rules = []
  return { ...config, routes }
}

async function begin(message: Extract<ToWorker, { type: 'begin' }>): Promise<void> {
  try {
    const worker = await createWorker(message)
    running = worker
    await send({ type: 'listening', url: await worker.start() })
  } catch (error) {
    await send({ type: 'failed', problem: messageOf(error), path: error instanceof SetupError ? error.path : null })
    await running?.stop()
    process.exit(1)
  }
}

async function report(id: number): Promise<void> {
  await send({ type: 'report', id, report: (await running?.report()) ?? STARTING })
}

function end(limits?: { delayMs: number; timeoutMs: number }): Promise<void> {
  ending ??= stop(limits)
  return ending
}

async function stop(limits?: { delayMs: number; timeoutMs: number }): Promise<never> {
  await running?.stop(limits)
  await report(-1)
  process.exit(0)
}

/** Resolves when the message is sent, or nobody is left to receive it. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => resolve())
    else resolve()
  })
}
