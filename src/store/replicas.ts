import { FORGET_MS, type Replica } from '../control/replicas.ts'

/** A process and the store's time at which it spoke last. */
export interface Heard {
  readonly replica: Replica
  readonly at: number
}

/** Those that were not silent for too long, by host and pid. */
export function listedReplicas(heard: readonly Heard[], now: number): (Replica & { readonly silentMs: number })[] {
  return heard
    .map(({ replica, at }) => ({ ...replica, silentMs: Math.max(0, now - at) }))
    .filter(({ silentMs }) => silentMs <= FORGET_MS)
    .sort((a, b) => compare(a.host, b.host) || a.pid - b.pid || compare(a.instance, b.instance))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
