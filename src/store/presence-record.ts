import { FORGET_MS, LATE_MS, type Replica } from '../replicas/presence.ts'
import type { Silence } from '../usage/silence.ts'

/** A process, and when it last reported by the store's clock. */
export interface Heard {
  readonly replica: Replica
  readonly at: number
}

const TEXTS = ['instance', 'host', 'version', 'hash'] as const
const COUNTS = ['requests', 'refused', 'shadowed', 'tokens', 'forwarded', 'failed', 'inFlight'] as const

/** The report of a process; empty if it has another form, because another version may share the store. */
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
 * The processes that reported recently, by host and pid. A report from the future was made while the clock was ahead,
 * and its process counts as silent for as long. A process that is alive reports again within two seconds.
 */
export function listedReplicas(heard: readonly Heard[], now: number): (Replica & { readonly silentMs: number })[] {
  return heard
    .map(({ replica, at }) => ({ ...replica, silentMs: Math.abs(now - at) }))
    .filter(({ silentMs }) => silentMs <= FORGET_MS)
    .sort((a, b) => compare(a.host, b.host) || a.pid - b.pid || compare(a.instance, b.instance))
}

/** The silence of a process whose last report was at `at`. It begins with the first counts that may be missing, and ends now. */
export function silenceOf(report: string, at: number, now: number): Silence {
  const { forMs = 0, lateMs = 0 } = unsentOf(report)
  return { from: Math.min(at, now) - forMs - lateMs, to: now }
}

/** Whether counts of a process wait for longer than it takes to send them. */
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
