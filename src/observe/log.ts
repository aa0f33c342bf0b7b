import { type Logger, pino } from 'pino'
import { STATUS_OF } from '../errors.ts'
import { counted } from '../lib/counted.ts'
import { idsOfRequest } from '../lib/request-ids.ts'
import { plainError, scrub } from '../lib/scrub.ts'
import { idsIn } from '../lib/trace-context.ts'
import type { NamedDays } from '../quota/payer.ts'
import { SCOPE_TITLES } from '../quota/refusal.ts'
import { type LineSink, openLineSink } from './line-sink.ts'
import { lineOf, type Reported } from './log-lines.ts'
import type { Access, Observation, Observer, RefusingLimit, RequestDone, Settled, TunnelCharge } from './observation.ts'
import { createOutageLines, type OutageLines } from './outage-lines.ts'
import { createAllowance, createOrderedThrottle, createThrottle, type Throttle } from './throttle.ts'

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'

export interface LogOptions {
  /** The lowest level that is written. Default `info`. */
  readonly level?: LogLevel
  /** Which requests get a line: `errors` are those that failed or got a response of 500 or above. Default `all`. */
  readonly requests?: 'all' | 'errors' | 'none'
  /** The number of this process among several that write one log: the field `worker` of its lines. Default none. */
  readonly worker?: number
  /** A file descriptor, or the path of a file to append to. Default 1, the standard output. */
  readonly destination?: number | string
  /**
   * Repeated events are reported at most once in this time: failures of the store by operation and reason, the begin and the end
   * of its outages, all in their order, and connections that find no room. While the store is out, one line says so in each
   * period. In milliseconds, default 10000.
   */
  readonly storeFailureMs?: number
  /** Hears of lines that are never written. */
  readonly observe?: Observer
}

export interface Log {
  readonly observer: Observer
  /** Writes finished lines of other processes, each with its newline. */
  pass(lines: string): void
  /** Resolves when every line so far is written. */
  flush(): Promise<void>
  /** Flushes and stops writing. */
  close(): Promise<void>
}

/** `isExpected`: it failed while the store was out. The many such failures must not hide the line of the outage. */
type StoreFailed = Extract<Observation, { type: 'store_failed' }> & { readonly isExpected: boolean }
/** The events of the store: failures, outages and recoveries. */
type StoreNews =
  | StoreFailed
  | Extract<Observation, { type: 'store_out' | 'store_connected' | 'store_recovered' | 'outage_settled' }>

/** Codes of valid connections that are turned away at a limit. Their clients hear nothing, so the log says it. */
const LIMITS: ReadonlyMap<string, string> = new Map([
  ['too_many', 'edge.max_connections'],
  ['too_many_of_address', 'edge.max_connections_per_address'],
  ['made_room', 'edge.max_connections or edge.shares.connections: idle connections are closed'],
  ['too_fast', 'an address opens connections faster than idle ones are closed for it'],
])

/** The reader of observations that writes JSON lines as pino does: numeric `level`, `time` in milliseconds, `msg`. */
export function createLog(options: LogOptions = {}): Log {
  const { level = 'info', requests = 'all', worker, destination = 1, storeFailureMs = 10_000, observe } = options
  const sink = openLineSink(destination, { onLost: (lines) => observe?.({ type: 'log_lost', lines }) })
  const logger = pino({ level, base: { worker }, serializers: { err: plainError } }, sink)
  const reportNews = (seen: StoreNews, count: number): void => {
    if (seen.type === 'store_failed') reportFailure(seen, count, logger)
    else {
      const policy = seen.type === 'store_out' && { policy: outage.policy() }
      report(seen, logger, { ...policy, ...(count > 1 && { count }) })
    }
  }
  const news = createOrderedThrottle(storeFailureMs, reportNews, ({ type }) => type === 'store_failed')
  const outage = createOutageLines(storeFailureMs, (stillOut) =>
    logger.error(stillOut, 'the store is still out: charges are decided without it'),
  )
  const parts: Parts = {
    logger,
    requests,
    news,
    outage,
    throttles: createThrottles(logger, storeFailureMs),
    requestLines: createRequestLines({ which: requests, worker, everyMs: storeFailureMs }, logger, sink),
  }
  const flushAtExit = (): void => sink.flushSync()
  process.on('exit', flushAtExit)

  return {
    observer: (observation) => logObservation(parts, observation),
    pass: (lines) => sink.write(lines),
    flush: () => sink.flush(),
    async close() {
      outage.end()
      news.close()
      for (const throttle of Object.values(parts.throttles)) throttle.close()
      parts.requestLines.close()
      const lost = await sink.close()
      process.off('exit', flushAtExit)
      if (lost > 0) process.stderr.write(lostLine(lost))
    },
  }
}

interface Parts {
  readonly logger: Logger
  readonly requests: LogOptions['requests']
  readonly news: Throttle<StoreNews>
  readonly outage: OutageLines
  readonly throttles: ReturnType<typeof createThrottles>
  readonly requestLines: ReturnType<typeof createRequestLines>
}

/** Frequent events get only some of their lines. */
function createThrottles(logger: Logger, everyMs: number) {
  const latest = (seen: Reported, count: number): void => report(seen, logger, count > 1 ? { count } : {})
  return {
    turnedAway: createThrottle<string>(everyMs, (limit, count) =>
      logger.warn({ limit, count }, 'connections are turned away or closed: a limit is reached'),
    ),
    refused: createAllowance<Reported>(everyMs, MOST_REFUSED, latest),
    startsAhead: createThrottle<Reported>(STARTS_AHEAD_MS, latest),
    unreadable: createAllowance<Reported>(everyMs, MOST_UNREADABLE, latest),
    unknownPlans: createThrottle<Reported>(UNKNOWN_PLANS_MS, latest, MOST_UNKNOWN_PLANS),
    oddCosts: createThrottle<Reported>(ODD_COSTS_MS, latest),
    alerts: createThrottle<Reported>(ALERTS_MS, latest, MOST_ALERTS),
    spans: createThrottle<Reported>(everyMs, latest),
  }
}

/** Handlers for the types of observations that do not simply become one line. */
const OWN: { readonly [T in Observation['type']]?: (parts: Parts, seen: Extract<Observation, { type: T }>) => void } = {
  request: ({ requestLines }, seen) => requestLines.write(seen),
  store_failed({ news, outage }, seen) {
    news.add(`${seen.operation} ${seen.reason}`, { ...seen, isExpected: outage.isOn() })
    if (seen.operation === 'settle') outage.goOn(seen.reason)
  },
  store_out({ news, outage }, seen) {
    news.add(seen.type, seen)
    outage.begin(seen.reason)
  },
  store_recovered({ news, outage }, seen) {
    outage.end()
    news.add(seen.type, seen)
  },
  store_connected: ({ news }, seen) => news.add(seen.type, seen),
  outage_settled: ({ news }, seen) => news.add(seen.type, seen),
  unreadable_record: ({ throttles }, seen) => throttles.unreadable.add(`${seen.type} ${seen.kind}`, seen),
  unreadable_record_over: ({ throttles }, seen) => throttles.unreadable.add(`${seen.type} ${seen.kind}`, seen),
  window_start_ahead: ({ throttles }, seen) => throttles.startsAhead.add(seen.type, seen),
  settled: logSettled,
  spans_sent({ throttles }, seen) {
    if (lineOf(seen) !== null) throttles.spans.add(seen.type, seen)
  },
  alert_event({ throttles }, seen) {
    if (lineOf(seen) !== null) throttles.alerts.add(`full ${seen.alert}`, seen)
  },
  alert_failed: ({ throttles }, seen) => throttles.alerts.add(`${seen.isLast} ${seen.alert}`, seen),
  outage_charge: ({ outage }, seen) => outage.count(seen.verdict),
  bad_connection({ throttles, requests, logger }, seen) {
    const { type, code, status } = seen
    const limit = LIMITS.get(code)
    if (limit !== undefined) throttles.turnedAway.add(limit, limit)
    else if (seen.refused !== undefined && requests === 'all') throttles.refused.add(code, seen)
    else report({ type, code, status }, logger)
  },
  config_loaded({ outage, logger }, seen) {
    if (seen.storeOutage !== undefined) outage.setShares(seen.storeOutage)
    report(seen, logger)
  },
}

function logObservation<T extends Observation['type']>(parts: Parts, seen: Extract<Observation, { type: T }>): void {
  const own = OWN[seen.type as T]
  if (own === undefined) report(seen as Reported, parts.logger)
  else own(parts, seen)
}

function logSettled({ requests, logger, requestLines, throttles }: Parts, seen: Settled): void {
  const { oddCosts, unknownPlans } = throttles
  if (seen.tunnel !== undefined) requestLines.writeTunnel(seen, seen.tunnel)
  if (seen.source === 'service') {
    if (requests === 'all') report(seen, logger)
  } else if (seen.kind === 'corrected') {
    if (lineOf(seen) !== null) oddCosts.add(`${seen.source} ${seen.route}`, seen)
  } else if (seen.isFurther === undefined && seen.plan !== null && seen.plan.unknown !== null)
    unknownPlans.add(seen.plan.unknown, seen)
}

/** The log itself cannot report this. */
function lostLine(lines: number): string {
  return `tollgate: ${counted(lines, 'line of the log is', 'lines of the log are')} lost: its disk is full, or its reader is gone or too slow\n`
}

function report(observation: Reported, logger: Logger, more: Readonly<Record<string, unknown>> = {}): void {
  const line = lineOf(observation)
  if (line !== null) logger[line.level]({ ...line.fields, ...more }, line.msg)
}

function reportFailure(seen: StoreFailed, count: number, logger: Logger): void {
  const { operation, reason, message, isExpected } = seen
  logger[isExpected ? 'warn' : 'error']({ operation, reason, count, detail: scrub(message) }, 'the store fails')
}

/** How many requests of each code have their own line within an interval. Anybody can send invalid bytes at any rate. */
const MOST_REFUSED = 20

/** How many records of each kind have their own line within an interval. */
const MOST_UNREADABLE = 20

/** Users return over hours, and each may have windows with a start in the future. */
const STARTS_AHEAD_MS = 3_600_000

/** Each name is reported once an hour, and only so many names, because issuers of credentials choose them. */
const UNKNOWN_PLANS_MS = 3_600_000
const MOST_UNKNOWN_PLANS = 20

/** Each kind is reported once a minute for each rule: a response without a cost may come with every request. */
const ODD_COSTS_MS = 60_000

/** The interval of reports for each alert: while a receiver is down, each event fails. */
const ALERTS_MS = 60_000
const MOST_ALERTS = 150

interface RequestLines {
  write(done: RequestDone): void
  /** Writes the line of a later charge of an open tunnel, which resembles that of a request. */
  writeTunnel(outcome: Settled, tunnel: TunnelCharge): void
  /** Writes the reports that are still outstanding. */
  close(): void
}

interface RequestLineOptions {
  readonly which: 'all' | 'errors' | 'none'
  readonly worker: number | undefined
  /** The interval of lines of one kind, in milliseconds, if they are reported together. */
  readonly everyMs: number
}

const INFO = 30
const WARN = 40

/** The access line is the only one whose cost matters, so it bypasses pino (docs/contributing/decisions/log-sink.md). */
function createRequestLines(
  { which, worker, everyMs }: RequestLineOptions,
  logger: Logger,
  sink: LineSink,
): RequestLines {
  const info = which !== 'none' && logger.isLevelEnabled('info')
  const warn = which !== 'none' && logger.isLevelEnabled('warn')
  const reportOne = (done: RequestDone, level: number, count?: number): void =>
    sink.write(requestLine(done, level, worker, count))
  // With `errors` an operator wants to find each error, and an outage or a peak causes thousands of one kind in a second.
  const alike = createThrottle<RequestDone>(everyMs, (latest, count) =>
    reportOne(latest, WARN, count === 1 ? undefined : count),
  )
  return {
    write(done) {
      const bad = isOurFault(done)
      if (bad ? !warn : !info) return
      if (which === 'all') reportOne(done, bad ? WARN : INFO)
      else if (isRefusedForLoad(done)) alike.add(done.error ?? '', done)
      else if (bad || done.clientStatus >= 500) reportOne(done, bad ? WARN : INFO)
    },
    writeTunnel(outcome, tunnel) {
      if (info && which === 'all') sink.write(tunnelLine(outcome, tunnel, worker))
    },
    close: alike.close,
  }
}

/** Whether the response is a 503 of the gateway because of load or an outage, which says nothing about the request. */
function isRefusedForLoad({ outcome, clientStatus }: RequestDone): boolean {
  return outcome === 'denied' && clientStatus === 503
}

/** Whether forwarding failed, or the gateway itself responded with a 5xx. */
function isOurFault({ outcome, error }: RequestDone): boolean {
  return outcome === 'failed' || (error !== null && STATUS_OF[error] >= 500)
}

function requestLine(done: RequestDone, level: number, worker: number | undefined, count: number | undefined): string {
  const { requestId, user, kind, letIn, method, route, category, cost, outcome, httpStatus, clientStatus, error } = done
  const { reason, lenient, charged, beyond, others, decidedAt, refusedBy, exempt, notUpgraded, access } = done
  const durationMs = Math.round(done.durationMs * 1000) / 1000
  return (
    `{"level":${level},"time":${Date.now()}${worker === undefined ? '' : `,"worker":${worker}`},"requestId":"${requestId}"` +
    `${traceFields(done)},"user":${json(user)}${kind === null ? '' : `,"kind":"${kind}"`},"method":${json(method)},"route":${json(route)},"category":${json(category)},"cost":${cost}${charged === null ? '' : `,"charged":${charged}`}${beyond === undefined ? '' : `,"beyond":${beyond}`}${others === undefined ? '' : otherFields(others)}${decidedAt === null ? '' : `,"decidedAt":${decidedAt}`}` +
    `${payerFields(done)}${exempt === null ? '' : `,"exempt":"${exempt}"`}` +
    `,"outcome":"${outcome}"${done.shadowed ? ',"shadowed":true' : ''}${done.replayed ? ',"replayed":true' : ''}${letIn === null ? '' : `,"authShadow":${json(scrub(letIn))}`},"httpStatus":${httpStatus}` +
    `,"clientStatus":${clientStatus},"durationMs":${durationMs}${access === null ? '' : accessFields(access)}${error === null ? '' : `,"error":"${error}"`}` +
    `${refusedBy === null ? '' : limitFields(refusedBy, category)}` +
    `${reason === null ? '' : `,"reason":${json(scrub(reason))}`}${lenient.length === 0 ? '' : `,"lenient":${JSON.stringify(lenient)}`}${notUpgraded === null ? '' : `,"notUpgraded":${json(scrub(notUpgraded))}`}${count === undefined ? '' : `,"count":${count}`},"msg":"request"}\n`
  )
}

/** The line of a charge of an open tunnel, with its own cost. The line of the request has that of the handshake. */
function tunnelLine(outcome: Settled, tunnel: TunnelCharge, worker: number | undefined): string {
  const { kind, tokens, charge, isFurther, decision, caller, plan, route, refusedBy, exempt } = outcome
  const { cost, category } = charge
  const { organisation } = caller
  const names = { plan: plan?.name ?? null, namedPlan: caller.plan, organisation, days: tunnel.days }
  return (
    `{"level":${INFO},"time":${Date.now()}${worker === undefined ? '' : `,"worker":${worker}`},"requestId":"${tunnel.requestId}"` +
    `${traceFields(tunnel)},"user":${json(caller.user)}${tunnel.kind === null ? '' : `,"kind":"${tunnel.kind}"`},"method":${json(tunnel.method)},"route":${json(route)}` +
    `,"category":${json(category)}${isFurther === true ? ',"further":true' : ''},"cost":${cost}${tokens === cost ? '' : `,"charged":${tokens}`}${decision === null ? '' : `,"decidedAt":${decision.at}`}` +
    `${payerFields(names)}${exempt === undefined ? '' : `,"exempt":"${exempt}"`},"outcome":"${kind}"${kind === 'shadowed' ? ',"shadowed":true' : ''}` +
    `,"openMs":${tunnel.openMs},"everyMs":${tunnel.everyMs}${typeof refusedBy === 'object' && refusedBy !== null ? limitFields(refusedBy, category) : ''},"msg":"tunnel charge"}\n`
  )
}

function traceFields({ traceparent, requestId }: Pick<RequestDone, 'traceparent' | 'requestId'>): string {
  const { traceId, spanId } = traceparent === null ? idsOfRequest(requestId) : idsIn(traceparent)
  return `,"traceId":"${traceId}","spanId":"${spanId}"`
}

function accessFields({ address, path }: Access): string {
  return `${address === null ? '' : `,"address":${json(address)}`}${path === null ? '' : `,"path":${json(path)}`}`
}

/** The plan whose limits hold, and the plan of the credential if that differs: under another configuration it may matter. */
function payerFields({
  plan,
  namedPlan,
  organisation,
  days,
}: Pick<RequestDone, 'plan' | 'namedPlan' | 'organisation'> & { readonly days?: NamedDays | undefined }): string {
  return (
    `${plan === null ? '' : `,"plan":${json(plan)}`}${namedPlan === plan ? '' : `,"namedPlan":${json(namedPlan)}`}` +
    `${organisation === null ? '' : `,"organisation":${json(organisation)}`}${days === undefined ? '' : dayFields(days)}`
  )
}

/** Under another configuration these days may matter, like the named plan. */
function dayFields({ periodDay, organisationDay }: NamedDays): string {
  return (
    `${periodDay === undefined ? '' : `,"periodDay":${periodDay}`}` +
    `${organisationDay === undefined ? '' : `,"organisationDay":${organisationDay}`}`
  )
}

/** The further meters of a request, as a list, so that the fields of the first one keep their meaning. */
function otherFields(others: NonNullable<RequestDone['others']>): string {
  const all = others.map(({ charged, ...of }) => (charged === null ? of : { ...of, charged }))
  return `,"others":${JSON.stringify(all)}`
}

/** The `limit` of a 429, and how the charge met it. @param first the category of the line; a limit of another category names its own */
function limitFields(
  { scope, category, window, limit, over, used, requested, resetAt, source }: RefusingLimit,
  first: string | null,
): string {
  const of = category === first ? '' : `,"meter":${json(category)}`
  return (
    `${of},"scope":"${SCOPE_TITLES[scope]}","window":${json(window)},"limit":${limit}${over === undefined ? '' : `,"over":${over}`}` +
    `,"used":${used},"requested":${requested}` +
    `,"resetAt":"${resetAt}","source":${json(source)}`
  )
}

function json(text: string | null): string {
  return text === null ? 'null' : JSON.stringify(text)
}
