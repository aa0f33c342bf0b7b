import type { Thing } from '../edge/shares.ts'
import type { Observation, Observer } from '../observe/observation.ts'

/** What all clients together lacked recently. A total that is just reached refuses nobody, so only refusals count. */
export interface Scarcity {
  readonly observer: Observer
  /** Why requests were refused or connections closed within the last minute, one reason for each resource. */
  reasons(): string[]
}

const RECENT_MS = 60_000

/** `upstream_connections` has a reason of its own, which also says that requests wait. */
const REASONS: Readonly<Record<Exclude<Thing, 'upstream_connections'>, string>> = {
  connections: 'as many connections are open as may be: others are closed',
  in_flight: 'as many requests are under way as may be: others are refused',
  credentials: 'as many requests wait for the check of their credential as may: others are refused',
  requests: 'as many requests are under way as may be: others are refused',
  bodies: 'as many bodies are awaited as may be: requests with another are refused',
  tunnels: 'as many WebSockets are open as may be: others are refused',
  checks: 'as many credentials are examined as may be at once: requests with others are refused',
  usage: 'as many requests for usage are under way as may be: others are refused',
}

/** The reason if only strangers have reached their share, so that users are served. */
const OF_STRANGERS =
  'clients without an accepted credential have as much as they may (edge.shares.strangers): others of them are refused'

/** By the codes of closed connections. */
const OF_CONNECTIONS: Readonly<Record<string, string>> = {
  too_many: REASONS.connections,
  made_room: 'as many connections are open as may be: idle ones are closed for new ones',
}

const BY_THING: ReadonlyMap<string, string> = new Map(Object.entries(REASONS))

/** @param now monotonic, in milliseconds */
export function createScarcity(now = () => performance.now()): Scarcity {
  const refusedAt = new Map<string, number>()
  return {
    observer: function noteScarcity(observation) {
      const reason = reasonOf(observation)
      if (reason !== undefined) refusedAt.set(reason, now())
    },
    reasons: () => [...refusedAt].filter(([, at]) => now() - at < RECENT_MS).map(([reason]) => reason),
  }
}

function reasonOf(observation: Observation): string | undefined {
  if (observation.type === 'bad_connection') return OF_CONNECTIONS[observation.code]
  if (observation.type !== 'request' || observation.share === null) return undefined
  const { thing, bound } = observation.share
  if (bound === 'strangers') return OF_STRANGERS
  return bound === 'total' ? BY_THING.get(thing) : undefined
}
