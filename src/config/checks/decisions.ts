import { partsOf } from '../../inputs/price.ts'
import { type HostPort, isLoopback } from '../addresses.ts'
import type { PartialConfig } from '../partial.ts'
import { type Finding, formatPath, type Path } from '../problems.ts'
import { metersOf } from './meters.ts'
import { checkTokenLength, collide } from './network.ts'

/** Who may ask for decisions, and what cannot be decided there. */
export function checkDecisions(parsed: PartialConfig): Finding[] {
  const { decisions } = parsed
  if (decisions === undefined) return []
  const { listen, token } = decisions
  const port = listen !== undefined && 'port' in listen ? checkPort(listen, parsed) : []
  return [...port, ...checkTokenLength(token, ['decisions', 'token']), ...checkBodies(parsed)]
}

const LISTEN: Path = ['decisions', 'listen']

function checkPort(listen: HostPort, { decisions, listen: gateway, admin }: PartialConfig): Finding[] {
  const others = [
    [gateway, ['listen']],
    [admin.listen, ['admin', 'listen']],
  ] as const
  const taken = others.flatMap(([other, path]): Finding[] => {
    if (other === undefined || !collide(listen, other)) return []
    return [{ path: LISTEN, message: `is the address of ${formatPath(path)}: choose another port` }]
  })
  const hasNoToken = decisions !== undefined && 'token' in decisions && decisions.token === undefined
  if (!hasNoToken || isLoopback(listen.host)) return taken
  const message =
    'others can reach this address and choose for which client they ask: add decisions.token, or listen on 127.0.0.1 or unix:PATH'
  return [...taken, { path: LISTEN, message }]
}

/** A proxy may ask by the head of a request alone, and a price that is in the body is known to nobody then. */
function checkBodies({ routes }: PartialConfig): Finding[] {
  const meters = routes.flatMap((route, i) => metersOf(route, ['routes', i]))
  return meters.flatMap(({ cost, path }): Finding[] => {
    const parts = cost === undefined ? [] : partsOf(cost)
    const isNeeded = parts.some(({ source, otherwise }) => source.kind === 'body' && otherwise === null)
    const isMeasured = parts.some(({ source }) => source.kind === 'size')
    if (!isNeeded && !isMeasured) return []
    const outcome = isNeeded
      ? 'gets 400 for such a request: add otherwise, the tokens of one without its body'
      : 'is charged the max'
    const message = `is read from the body, which nginx and Caddy never send to decisions.listen: a proxy that does not send it ${outcome}`
    return [{ path: [...path, 'cost'], severity: 'warning', message }]
  })
}
