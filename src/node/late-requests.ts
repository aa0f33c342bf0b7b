import type { Server } from 'node:http'
import { repeat } from '../lib/repeat.ts'

/** What is used of an interval of Node and not in its types. */
interface Interval extends NodeJS.Timeout {
  readonly _onTimeout: () => void
}

/**
 * Lets Node look for late requests in one turn with whatever else comes at intervals.
 *
 * Each server of Node has an interval of its own for that from the moment on at which it listens, also while nobody is connected (26.10,
 * `lib/_http_server.js`, `setupConnectionsTracking`). It would wake a process that rests.
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
