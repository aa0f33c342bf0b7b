import { type AskedPrice, type Price, partsOf } from '../../inputs/price.ts'
import { type HostPort, isLoopback } from '../addresses.ts'
import type { PartialConfig } from '../partial.ts'
import { type Finding, formatPath, type Path } from '../problems.ts'
import { metersOf, type WrittenMeter } from './meters.ts'
import { checkTokenLength, collide } from './network.ts'

/** Checks who may ask for decisions, and which prices cannot be read from a request that only asks for one. */
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

/** A proxy that asks only with the head of a request cannot send the body for a price. */
function checkBodies({ routes, unmatched, decisions }: PartialConfig): Finding[] {
  const sendsBody = decisions?.sends_body ?? false
  const ruled = routes.flatMap((route, i) => {
    const methods = route.match?.methods ?? []
    return metersOf(route, ['routes', i]).flatMap((meter) => checkMeter(meter, methods, sendsBody))
  })
  if (unmatched?.kind !== 'charge') return ruled
  return [...ruled, ...metersOf(unmatched, ['unmatched']).flatMap((meter) => checkMeter(meter, '*', sendsBody))]
}

function checkMeter({ cost, path }: WrittenMeter, methods: '*' | readonly string[], sendsBody: boolean): Finding[] {
  const parts = cost === undefined ? [] : partsOf(cost)
  const at = { path: [...path, 'cost'] }
  if (parts.some(({ source }) => source.kind === 'query')) {
    const open = (methods === '*' ? ['POST', 'PUT', 'PATCH'] : methods).filter((method) => !BODILESS.test(method))
    if (open.length === 0) return []
    const message = `is read from the query, and at decisions.listen each request of ${open.join(', ')} gets 400, since a body might say something else: give them a rule of their own`
    return [{ ...at, message, severity: 'warning' }]
  }
  if (sendsBody) return []
  const needed = cost === undefined ? null : neededBody(cost)
  if (needed !== null) {
    const key = needed.reading.kind === 'values' ? 'otherwise' : 'missing'
    const message = `is read from the body, which nginx and Caddy never send to decisions.listen: add ${key}, the tokens of a request without its body, or decisions.sends_body: true if all who ask there send it`
    return [{ ...at, message }]
  }
  if (!parts.some(({ source }) => source.kind === 'size')) return []
  const message =
    'is the size of the body, which nginx and Caddy never send to decisions.listen: without it a request is charged the max'
  return [{ ...at, message, severity: 'warning' }]
}

/** The first part of a price that reads the body and sets no tokens for a request without a body; `null` if there is none. */
function neededBody(price: Price): AskedPrice | null {
  if (price.kind === 'fixed') return null
  const { source, reading, otherwise } = price
  if (source.kind === 'body') return otherwise === null ? price : null
  const within = reading.kind === 'values' ? [...reading.values.values()] : []
  return within.map(neededBody).find((part) => part !== null) ?? null
}

/** No framework reads a body of these methods as a query. */
const BODILESS = /^(?:GET|HEAD|DELETE)$/
