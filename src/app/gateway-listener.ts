import type { Config, DecisionsConfig } from '../config/config.ts'
import { createDecisions } from '../decisions/handler.ts'
import type { Receipts } from '../decisions/receipts.ts'
import type { ConnectionLimits } from '../edge/connection.ts'
import { createListener, type Listener } from '../edge/listener.ts'
import type { Shares } from '../edge/shares.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Charging } from '../gateway/settlement.ts'
import { removeDeadSocket } from '../lib/dead-socket.ts'
import { onceForEach, onDemand } from '../lib/memo.ts'
import type { Certificate } from '../lib/tls.ts'
import type { Observer } from '../observe/observation.ts'
import { patiencesOf } from './patience.ts'
import type { Runtime } from './runtime.ts'
import { SetupError } from './setup-error.ts'

interface Common {
  /** The configuration at the start, for the parts that cannot change at run time. */
  readonly config: Config
  readonly observe: Observer
  readonly shares: Shares
  /** The configuration in force. */
  readonly current: () => Runtime
}

export interface GatewayListenerOptions extends Common {
  readonly certificate: Certificate | null
  readonly gateway: Gateway
}

export interface DecisionsListenerOptions extends Common {
  readonly decisions: DecisionsConfig
  /** The deciding gateway. */
  readonly gateway: Gateway
  readonly charging: Charging
  /** `null` if decisions have no ids. */
  readonly receipts: Receipts | null
  /** The version of Tollgate. */
  readonly version: string
}

/** The listener for clients. */
export function openGatewayListener({ current, ...parts }: GatewayListenerOptions): Listener {
  const { config } = parts
  return createListener({
    ...parts,
    ...bounds(config),
    listen: config.listen,
    limits: limitsNow(current, connectionLimits),
  })
}

/** The listener for proxies that ask whether a request may go on. A proxy stands for many clients, so it has no share of its own. */
export function openDecisionsListener({
  current,
  charging,
  decisions,
  version,
  receipts,
  ...parts
}: DecisionsListenerOptions): Listener {
  const { config, gateway } = parts
  const { listen, token } = decisions
  // Loaded at the first question of a service, because it needs the library of the schemas.
  const asks = onDemand(async () => {
    const { createAsks } = await import('../decisions/asks.ts')
    return createAsks({ gateway, charging, receipts, version, rules: () => current().deciding ?? current().rules })
  })
  return createListener({
    ...parts,
    ...bounds(config),
    what: 'decisions',
    listen,
    certificate: null,
    gateway: createDecisions({
      gateway,
      token,
      asks,
    }),
    // A header field contains the target of the original request.
    maxHeaderSize: config.edge.maxHeaderSize + config.edge.maxUrl + OWN_FIELDS,
    limits: limitsNow(current, (runtime) => ({
      ...connectionLimits(runtime),
      isProxy: () => true,
      readsProxyProtocol: false,
      presentation: runtime.deciding?.presentation ?? null,
    })),
  })
}

/**
 * Removes the socket that a killed process has left. Done once for all workers, because one could remove the file that another has just
 * made.
 */
export async function freeSocketOf({ decisions }: Config): Promise<void> {
  if (decisions !== null && 'socket' in decisions.listen) await removeDeadSocket(decisions.listen.socket)
}

/** How many bytes a proxy adds to a head. */
const OWN_FIELDS = 4096

function bounds(config: Config) {
  const { maxHeaderSize, headersTimeoutMs, keepAliveTimeoutMs, maxConnections } = config.edge
  const idleTimeoutMs = idleTimeoutOf(config)
  return { maxHeaderSize, headersTimeoutMs, keepAliveTimeoutMs, maxConnections, idleTimeoutMs }
}

/** The limits by the configuration in force. They are made once for each configuration, because every request needs them. */
function limitsNow(current: () => Runtime, make: (runtime: Runtime) => ConnectionLimits): () => ConnectionLimits {
  const limitsOf = onceForEach(make)
  return () => limitsOf(current())
}

/**
 * Longer than a client may wait: for its charge, for which a silent store has four deadlines, for a place in its share and for a free
 * connection, for a new connection with its retries, for the response, and for its next piece.
 */
export function idleTimeoutOf(config: Config): number {
  const { queueTimeoutMs, connectTimeoutMs, connectRetryMs } = config.upstream
  const openingMs = 4 * config.store.deadlineMs + 2 * queueTimeoutMs + connectTimeoutMs + connectRetryMs
  const longest = patiencesOf(config).reduce(
    (ms, { responseTimeoutMs, idleTimeoutMs }) => Math.max(ms, openingMs + 2 * responseTimeoutMs, idleTimeoutMs),
    0,
  )
  return longest + 10_000
}

function connectionLimits({ config: { edge }, rules, isProxy }: Runtime): ConnectionLimits {
  return {
    shares: rules.shares,
    maxUrl: edge.maxUrl,
    isProxy,
    readsProxyProtocol: edge.proxyProtocol,
    uploads: { minRate: edge.minUploadRate, graceMs: edge.uploadGraceMs },
    answersHalfClosed: edge.halfClose === 'answer',
    names: rules.names,
    presentation: rules.presentation,
  }
}

const SOCKET_CURE = 'name a folder that is there and that the gateway may write to, and a path on which nobody listens'
const RIGHT_CURE = 'choose a port from 1024 on, or give the gateway the right to lower ones (CAP_NET_BIND_SERVICE)'
const PORT_CURE = 'choose an address of this machine whose port is free'

/** @param path the key of the address that is not available @throws SetupError */
export function addressProblem(...path: readonly string[]): (error: Error) => never {
  return (cause: NodeJS.ErrnoException & { readonly port?: number }) => {
    // Node gives this port in an error about a Unix socket.
    const cure = cause.port === -1 ? SOCKET_CURE : cause.code === 'EACCES' ? RIGHT_CURE : PORT_CURE
    throw new SetupError(path, `${cause.message}: ${cure}`, cause)
  }
}
