import type { Counting } from './counting.ts'
import type { Meter } from './registry.ts'

/** Connections of clients, tunnels, and the credentials that come on them. */
export function connectionMetrics(meter: Meter): Counting {
  const credentials = meter.counter('credential_checks_total', 'Credentials checked.', ['cached'])
  const connections = meter.counter(
    'bad_connections_total',
    'Connections turned away or broken off, and requests refused because too many waited on theirs.',
    ['code'],
  )
  const upgrades = meter.gauge('upgraded_connections', 'Upgraded connections that are open.')
  const ended = meter.counter('tunnels_ended_total', 'WebSockets closed since what admitted them holds no longer.', [
    'reason',
  ])
  for (const why of ['credential', 'blocked', 'age', 'quota']) ended.add(why, 0)
  return {
    credential_checked: (seen) => credentials.add(String(seen.cached)),
    bad_connection: (seen) => connections.add(seen.code),
    upgrade_opened: () => upgrades.inc(),
    upgrade_closed: () => upgrades.dec(),
    tunnel_ended: (seen) => ended.add(seen.why),
  }
}
