import { FORGET_MS, LATE_MS, type Replica } from '../replicas/presence.ts'
import type { Silence } from '../usage/silence.ts'

/** A process and the store's time at which it spoke last. */
export interface Heard {
  readonly replica: Replica
  readonly at: number
}

const TEXTS = ['instance', 'host', 'version', 'hash'] as const
const COUNTS = ['requests', 'refused', 'shadowed', 'tokens', 'forwarded', 'failed', 'inFlight'] as const

/** What a process reported, or nothing if it is not a report of this form: another version may share the store. */
export function heard(text: string, at: number): Heard[] {
  try {
    const replica = JSON.parse(text) as Replica
    const { pid, controlVersion, startedAt, counts, hits, reasons, configProblems, unmatched } = replica
    const numbers = [pid, controlVersion, startedAt, ...COUNTS.map((name) => counts[name]), ...Object.values(hits)]
    const isOurs =
      TEXTS.every((name) => typeof replica[name] === 'string') &&
      numbers.every(Number.isFinite) &&
      [reasons, configProblems, unmatched].every(Array.isArray)
    return isOurs ? [{ replica, at }] : []
  } catch {
    return []
  }
}

/**
 * The processes that were not silent for too long, by host and pid. A process that spoke in the future spoke while the
 * clock was ahead: it counts as silent for as long as it is ahead. A process that is alive speaks again in two seconds.
 */
export function listedReplicas(heard: readonly Heard[], now: number): (Replica & { readonly silentMs: number })[] {
  return heard
    .map(({ replica, at }) => ({ ...replica, silentMs: Math.abs(now - at) }))
    .filter(({ silentMs }) => silentMs <= FORGET_MS)
    .sort((a, b) => compare(a.host, b.host) || a.pid - b.pid || compare(a.instance, b.instance))
}

/** What a process that spoke last then may have counted since, and not brought into the store. */
export function silenceOf(report: string, at: number, now: number): Silence {
  const { forMs = 0, lateMs = 0 } = unsentOf(report)
  return { from: Math.min(at, now) - forMs - lateMs, to: now }
}

/** Whether what a process has counted waits for longer than it takes to send it. */
export function isLate(report: string, at: number, now: number): boolean {
  return now - at + (unsentOf(report).forMs ?? 0) > LATE_MS
}

function unsentOf(report: string): Partial<NonNullable<Replica['unsent']>> {
  try {
    const { forMs, lateMs } = (JSON.parse(report) as Partial<Replica>).unsent ?? {}
    return { forMs: milliseconds(forMs), lateMs: milliseconds(lateMs) }
  } catch {
    return {}
  }
}

function milliseconds(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? value : 0
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
