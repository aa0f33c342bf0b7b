import type { Counting } from './counting.ts'
import { TUNNEL_ENDS } from './observation.ts'
import type { Meter } from './registry.ts'

/** Metrics of connections of clients, tunnels, and the credentials on them. */
export function connectionMetrics(meter: Meter): Counting {
  const credentials = meter.counter(
    'credential_checks_total',
    'Credentials that were checked. With cached="true" the gateway used the result of an earlier check again.',
    ['cached'],
  )
  const connections = meter.counter(
    'bad_connections_total',
    'Connections that the gateway turned away or broke off, and requests that were refused before their head could be used.',
    ['code'],
  )
  const upgrades = meter.gauge('upgraded_connections', 'WebSockets and other upgraded connections that are open now.')
  const ended = meter.counter(
    'tunnels_ended_total',
    'WebSockets that the gateway closed because they may no longer be open, for example because a credential expired.',
    ['reason'],
  )
  for (const why of TUNNEL_ENDS) ended.add(why, 0)
  return {
    credential_checked: (seen) => credentials.add(String(seen.cached)),
    bad_connection: (seen) => connections.add(seen.code),
    upgrade_opened: () => upgrades.inc(),
    upgrade_closed: () => upgrades.dec(),
    tunnel_ended: (seen) => ended.add(seen.why),
  }
}
