import type { Thing } from '../edge/shares.ts'
import type { Observer } from '../observe/observation.ts'

/**
 * What all clients lacked a moment ago. A total that is only just reached refuses nobody, so refusals are what counts.
 */
export interface Scarcity {
  readonly observer: Observer
  /** Why requests were refused within the last 10 s, a reason for each thing. */
  reasons(): string[]
}

const RECENT_MS = 10_000

/** `upstream_connections` has a reason of its own, which also says that requests wait. */
const REASONS: Readonly<Record<Exclude<Thing, 'upstream_connections'>, string>> = {
  connections: 'as many connections are open as may be: others are closed',
  in_flight: 'as many requests are under way as may be: others are refused',
  requests: 'as many requests are under way as may be: others are refused',
  bodies: 'as many bodies are awaited as may be: requests with another are refused',
  tunnels: 'as many WebSockets are open as may be: others are refused',
  checks: 'as many credentials are examined as may be at once: requests with others are refused',
}

const BY_THING: ReadonlyMap<string, string> = new Map(Object.entries(REASONS))

/** @param now monotonic, in milliseconds */
export function createScarcity(now = () => performance.now()): Scarcity {
  const refusedAt = new Map<string, number>()
  return {
    observer: function noteScarcity(observation) {
      if (observation.type !== 'request' || observation.share?.bound !== 'total') return
      const reason = BY_THING.get(observation.share.thing)
      if (reason !== undefined) refusedAt.set(reason, now())
    },
    reasons: () => [...refusedAt].filter(([, at]) => now() - at < RECENT_MS).map(([reason]) => reason),
  }
}
