import { createCounts } from './counts.ts'
import type { Exchange } from './exchange.ts'

/** What is under way, and whether there is room for more. */
export interface Load {
  begin(exchange: Exchange): void
  end(exchange: Exchange): void
  /** Why this exchange, which has begun, is too much; `null` where it is not. */
  excess(exchange: Exchange): string | null
  /** Counts the exchange for its user until it ends. @returns how many the user may have, where that is too few; else `null` */
  admitUser(exchange: Exchange, user: string): number | null
  /** Requests and tunnels under way. */
  total(): number
}

/** @param lag how late the event loop lastingly is, in milliseconds */
export function createLoad(lag: () => number): Load {
  let requests = 0
  let tunnels = 0
  const users = createCounts()
  const counted = new Map<Exchange, string>()

  function begin({ res }: Exchange): void {
    if (res === null) tunnels++
    else requests++
  }

  function end(exchange: Exchange): void {
    if (exchange.res === null) tunnels--
    else requests--
    const user = counted.get(exchange)
    if (user === undefined) return
    counted.delete(exchange)
    users.leave(user)
  }

  function excess({ res, rules }: Exchange): string | null {
    if (lag() > rules.maxLagMs) return 'event loop'
    // A tunnel lasts as long as its users talk: counted apart, so that open WebSockets never shut out requests.
    if (res === null) return tunnels > rules.maxTunnels ? 'tunnels' : null
    return requests > rules.maxInFlight ? 'requests' : null
  }

  function admitUser(exchange: Exchange, user: string): number | null {
    const { maxInFlightPerUser } = exchange.rules
    if (maxInFlightPerUser === null) return null
    if (!users.enter(user, maxInFlightPerUser)) return maxInFlightPerUser
    counted.set(exchange, user)
    return null
  }

  return { begin, end, excess, admitUser, total: () => requests + tunnels }
}
