import type { Server } from 'node:http'
import { repeat } from '../lib/repeat.ts'

/** A property of an interval of Node that is used here and not in its types. */
interface Interval extends NodeJS.Timeout {
  readonly _onTimeout: () => void
}

/**
 * Lets Node look for late requests in the same turn as other repeated work.
 *
 * Each server of Node has its own interval for that from the moment at which it listens, also while nobody is connected (26.10,
 * `lib/_http_server.js`, `setupConnectionsTracking`). That would wake a resting process.
 */
export function lookForLateRequestsTogether(server: Server, everyMs: number): void {
  let stop = (): void => {}
  server.on('listening', () => {
    const interval = intervalOf(server)
    if (interval === undefined) return
    const look = interval._onTimeout
    clearInterval(interval)
    stop()
    stop = repeat(look, everyMs)
  })
  server.on('close', () => stop())
}

function intervalOf(server: Server): Interval | undefined {
  const name = Object.getOwnPropertySymbols(server).find((it) => it.description === NAME)
  return name && (server as unknown as Record<symbol, Interval>)[name]
}

const NAME = 'http.server.connectionsCheckingInterval'
