import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { repeat } from '../lib/repeat.ts'
import { scrub } from '../lib/scrub.ts'
import type { Observation, Observer, RequestDone } from '../observe/observation.ts'
import { BEAT_MS, type Replica, type ReplicaCounts, type ReplicaStore, UNMATCHED } from './presence.ts'

/** The part of a report that the heartbeat does not count itself. */
export type ProcessState = Pick<Replica, 'hash' | 'controlVersion' | 'ready' | 'reasons' | 'unsent'> & {
  readonly inFlight: number
}

export interface HeartbeatOptions {
  readonly store: Pick<ReplicaStore, 'beat' | 'leave'>
  /** A random id for each start of the process. */
  readonly instance: string
  readonly version: string
  readonly state: () => ProcessState
  /** Default BEAT_MS. */
  readonly everyMs?: number
}

/** Reports to the other replicas every few seconds that this process is alive, with its state. */
export interface Heartbeat {
  /** Counts observations. */
  readonly observer: Observer
  /** Sends the first report and goes on. */
  start(): void
  /** Notes why the process that reads the configuration file did not accept it. The note stays until a file is accepted. */
  configProblems(problems: readonly string[]): void
  /**
   * Stops, and reports that the process has gone. Never rejects.
   * @param hasSentAll whether all counts of the process are in the store. If not, nothing is reported, so that others notice the silence
   * @param graceMs how long to wait for the store, in milliseconds
   */
  leave(hasSentAll: boolean, graceMs: number): Promise<void>
}

const MAX_ROUTES = 200
const MAX_UNMATCHED = 20
const MAX_LENGTH = 200
/** After how many requests their routes are counted. Counting them together costs less than counting each at once. */
const AT_ONCE = 1000

export function createHeartbeat({ store, instance, version, state, everyMs = BEAT_MS }: HeartbeatOptions): Heartbeat {
  const startedAt = Date.now()
  const counted = createCounts()
  let configProblems: readonly string[] = []
  let beating: Promise<void> | null = null
  let stopBeating = (): void => {}

  function count(seen: Observation): void {
    counted.observer(seen)
    if (seen.type === 'config_rejected') configProblems = seen.problems
    else if (seen.type === 'config_loaded') configProblems = []
  }

  /** Sends one report at a time, so that a slow store is not asked twice. Other parts of the process report a failure of the store. */
  function beat(): void {
    beating ??= store
      .beat(replica())
      .catch(() => {})
      .finally(() => {
        beating = null
      })
  }

  function replica(): Replica {
    const { inFlight, ...rest } = state()
    const { counts, ...seen } = counted.sums()
    return {
      instance,
      host: hostname(),
      pid: process.pid,
      version,
      ...rest,
      startedAt,
      configProblems,
      counts: { ...counts, inFlight },
      ...seen,
    }
  }

  async function leave(hasSentAll: boolean, graceMs: number): Promise<void> {
    stopBeating()
    if (!hasSentAll) return
    const gone = async (): Promise<void> => {
      // A report that arrives after this would bring the process back.
      await beating
      await store.leave(instance)
    }
    await Promise.race([gone().catch(() => {}), sleep(graceMs, undefined, { ref: false })])
  }

  return {
    observer: count,
    start() {
      beat()
      stopBeating = repeat(beat, everyMs)
    },
    configProblems(problems) {
      configProblems = problems
    },
    leave,
  }
}

/** The totals of the requests that this process has seen. */
function createCounts() {
  const counts = { requests: 0, refused: 0, shadowed: 0, tokens: 0, forwarded: 0, failed: 0 }
  const letIn = { missing: 0, invalid: 0, ambiguous: 0, unchecked: 0 }
  const hits = new Map<string, { count: number }>()
  /** The routes of requests that are not counted yet. */
  const recent: string[] = []
  /** Method and path of the latest requests without a route, oldest first. */
  const unmatched = new Set<string>()

  function observer(seen: Observation): void {
    if (seen.type === 'request') countRequest(seen)
    else if (seen.type === 'settled') counts.tokens += Math.max(0, seen.tokens)
    else if (seen.type === 'unmatched') noteUnmatched(seen.method, seen.path)
    else if (seen.type === 'caller_let_in') letIn[seen.why]++
  }

  function countRequest({ route, outcome, httpStatus, shadowed }: RequestDone): void {
    counts.requests++
    if (outcome === 'refused') counts.refused++
    if (shadowed) counts.shadowed++
    if (httpStatus !== null) counts.forwarded++
    // A client that left says nothing about the upstream.
    if (outcome !== 'aborted' && httpStatus !== null && (httpStatus === 0 || httpStatus >= 500)) counts.failed++
    if (route !== null && route !== UNMATCHED && recent.push(route) === AT_ONCE) countRecent()
  }

  function countRecent(): void {
    for (const route of recent) hit(route)
    recent.length = 0
  }

  function hit(route: string): void {
    const known = hits.get(route)
    if (known === undefined) hits.set(route, { count: 1 })
    else known.count++
  }

  function noteUnmatched(method: string, path: string): void {
    hit(UNMATCHED)
    const text = `${method} ${path}`.slice(0, MAX_LENGTH)
    unmatched.delete(text)
    unmatched.add(text)
    if (unmatched.size <= MAX_UNMATCHED) return
    const [oldest = ''] = unmatched
    unmatched.delete(oldest)
  }

  function sums(): Pick<Replica, 'letIn' | 'hits' | 'unmatched'> & {
    readonly counts: Omit<ReplicaCounts, 'inFlight'>
  } {
    countRecent()
    return {
      counts: { ...counts },
      letIn: { ...letIn },
      hits: mostUsed(hits),
      unmatched: [...unmatched].reverse().map(scrub),
    }
  }

  return { observer, sums }
}

/** The counts of the most used routes. The count of unmatched requests is always among them, if there are any. */
function mostUsed(hits: ReadonlyMap<string, { readonly count: number }>): Record<string, number> {
  const weight = (route: string, count: number): number => (route === UNMATCHED ? Number.POSITIVE_INFINITY : count)
  const all = [...hits].map(([route, { count }]): [string, number] => [route, count])
  if (all.length > MAX_ROUTES) all.sort((a, b) => weight(...b) - weight(...a))
  return Object.fromEntries(all.slice(0, MAX_ROUTES))
}
