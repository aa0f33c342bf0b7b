import type { Config } from '../config/config.ts'
import { same } from './runtime.ts'
import { kindOf } from './store-kinds/kinds.ts'
import { isByRoute } from './telemetry.ts'

const SECTIONS = ['listen', 'tls', 'store', 'admin', 'decisions', 'log', 'metrics', 'telemetry', 'workers'] as const

/** Keys of `edge` that apply only when a listener is opened. */
const EDGE = ['maxHeaderSize', 'headersTimeoutMs', 'keepAliveTimeoutMs', 'maxConnections'] as const

/** A new login or certificate for the same store can be taken over, and so can new admin tokens and sign-ins. */
function hasChanged(running: Config, next: Config, key: (typeof SECTIONS)[number]): boolean {
  if (key === 'store') return !same(placeOf(running), placeOf(next))
  if (key === 'admin') return !same(next.admin, adminUntilRestart(running, next))
  return !same(running[key], next[key])
}

function placeOf({ store: { location, prefix, deadlineMs } }: Config): unknown {
  return [kindOf(location).place(location), prefix, deadlineMs]
}

/** Changes that a running process cannot take over, one sentence for each. */
export function needRestart(running: Config, next: Config): string[] {
  const sections = SECTIONS.filter((key) => hasChanged(running, next, key))
  const edge = EDGE.some((key) => running.edge[key] !== next.edge[key])
  const clients = !same(running.auth.clientCertificate, next.auth.clientCertificate)
  const others = [
    ...(clients ? ['auth.client_certificate'] : []),
    ...(edge ? ['edge (limits of connections and heads)'] : []),
    ...(running.decisions !== null && running.edge.maxUrl !== next.edge.maxUrl
      ? ['edge.max_url (in the heads that decisions.listen takes)']
      : []),
    ...(same(running.metrics, next.metrics) && isByRoute(running) !== isByRoute(next)
      ? ['metrics.by_route (auto, by the number of rules)']
      : []),
  ]
  return [...sections, ...others].map(
    (what) =>
      `${what}: this change takes effect at the next restart${what === 'admin' && hasMoved(running, next) ? ASTRAY : ''}`,
  )
}

/** These commands only read the file, and cannot know the address that it had when the gateway started. */
const ASTRAY = '; until then `tollgate healthcheck` and `tollgate drain` find nobody'

function hasMoved({ admin: before }: Config, { admin: after }: Config): boolean {
  return !same(before.listen, after.listen) || (before.tls === null) !== (after.tls === null)
}

/** The next configuration without the changes that need a restart, so that a worker that starts later is like the others. */
export function untilRestart(running: Config, next: Config): Config {
  const kept = SECTIONS.filter((key) => key !== 'store' || hasChanged(running, next, key))
  const auth = { ...next.auth, ...pick(running.auth, ['clientCertificate']) }
  const admin = adminUntilRestart(running, next)
  return { ...next, ...pick(running, kept), admin, auth, edge: { ...next.edge, ...pick(running.edge, EDGE) } }
}

function adminUntilRestart(running: Config, next: Config): Config['admin'] {
  return { ...running.admin, ...pick(next.admin, ['tokens', 'oidc', 'trusted']) }
}

function pick<T, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<T, K>
}
