import { FORGET_MS, type Replica } from '../replicas/presence.ts'

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

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
