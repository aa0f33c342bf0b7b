import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { repeat } from '../lib/repeat.ts'
import { scrub } from '../lib/scrub.ts'
import type { Observation, Observer, RequestDone } from '../observe/observation.ts'
import { BEAT_MS, type Replica, type ReplicaCounts, type ReplicaStore, UNMATCHED } from './presence.ts'

/** What a replica reports besides what it has counted. */
export type ProcessState = Pick<Replica, 'hash' | 'controlVersion' | 'ready' | 'reasons' | 'unsent'> & {
  readonly inFlight: number
}

export interface HeartbeatOptions {
  readonly store: Pick<ReplicaStore, 'beat' | 'leave'>
  /** Random for each start of the process. */
  readonly instance: string
  readonly version: string
  readonly state: () => ProcessState
  /** Default BEAT_MS. */
  readonly everyMs?: number
}

/** Tells the other replicas, every few seconds, that this process is there and what it does. */
export interface Heartbeat {
  /** Counts. */
  readonly observer: Observer
  /** Tells for the first time and goes on. */
  start(): void
  /** A configuration file was not taken, by whoever reads it for this process. Good until the next one is taken. */
  configProblems(problems: readonly string[]): void
  /**
   * Tells no more, and that it is gone. Never rejects.
   * @param hasSentAll whether all that the process counted is in the store. If not, others shall notice that it is silent
   * @param graceMs how long a store may be silent
   */
  leave(hasSentAll: boolean, graceMs: number): Promise<void>
}

const MAX_ROUTES = 200
const MAX_UNMATCHED = 20
const MAX_LENGTH = 200
/** This many routes at most are counted together, which costs a request less than to count each by itself. */
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

  /** One at a time: a store that is slow is not asked twice. Whoever needs to know that it fails hears of it elsewhere. */
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
      // What comes after it would bring it back.
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

/** What the requests that this process has seen come to. */
function createCounts() {
  const counts = { requests: 0, refused: 0, shadowed: 0, tokens: 0, forwarded: 0, failed: 0 }
  const letIn = { missing: 0, invalid: 0, ambiguous: 0, unchecked: 0 }
  const hits = new Map<string, { count: number }>()
  /** Routes of the requests that are not counted yet. */
  const recent: string[] = []
  /** Oldest first. */
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

/** What matched nothing is always among them. */
function mostUsed(hits: ReadonlyMap<string, { readonly count: number }>): Record<string, number> {
  const weight = (route: string, count: number): number => (route === UNMATCHED ? Number.POSITIVE_INFINITY : count)
  const all = [...hits].map(([route, { count }]): [string, number] => [route, count])
  if (all.length > MAX_ROUTES) all.sort((a, b) => weight(...b) - weight(...a))
  return Object.fromEntries(all.slice(0, MAX_ROUTES))
}
