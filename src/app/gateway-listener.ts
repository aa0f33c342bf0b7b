import type { Config } from '../config/config.ts'
import type { ConnectionLimits } from '../edge/connection.ts'
import { createListener, type Listener } from '../edge/listener.ts'
import type { Shares } from '../edge/shares.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Certificate } from '../lib/tls.ts'
import type { Observer } from '../observe/observation.ts'
import { patiencesOf } from './patience.ts'
import type { Runtime } from './runtime.ts'
import { SetupError } from './setup-error.ts'

export interface GatewayListenerOptions {
  /** What cannot change while it runs is taken from here. */
  readonly config: Config
  readonly certificate: Certificate | null
  readonly gateway: Gateway
  readonly observe: Observer
  readonly shares: Shares
  /** The configuration in force. */
  readonly current: () => Runtime
}

/** The listener for clients, as the configuration describes it. */
export function openGatewayListener({ config, current, ...parts }: GatewayListenerOptions): Listener {
  const { maxHeaderSize, headersTimeoutMs, keepAliveTimeoutMs, maxConnections } = config.edge
  // Made once for each configuration: it is asked for twice a request.
  let known = current()
  let limits = connectionLimits(known)
  return createListener({
    ...parts,
    listen: config.listen,
    maxHeaderSize,
    headersTimeoutMs,
    keepAliveTimeoutMs,
    idleTimeoutMs: idleTimeoutOf(config),
    maxConnections,
    limits: () => {
      const runtime = current()
      if (runtime !== known) {
        known = runtime
        limits = connectionLimits(runtime)
      }
      return limits
    },
  })
}

/** Longer than the upstream may keep a client waiting: for a connection, its opening again and again, the response, the next piece of it. */
export function idleTimeoutOf(config: Config): number {
  const { connectTimeoutMs, connectRetryMs } = config.upstream
  const openingMs = connectTimeoutMs + connectRetryMs
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

/** @param path the key that names the address which cannot be had @throws SetupError */
export function addressProblem(...path: readonly string[]): (error: Error) => never {
  return (cause: NodeJS.ErrnoException) => {
    const cure =
      cause.code === 'EACCES'
        ? 'choose a port from 1024 on, or give the gateway the right to lower ones (CAP_NET_BIND_SERVICE)'
        : 'choose an address of this machine whose port is free'
    throw new SetupError(path, `${cause.message}: ${cure}`, cause)
  }
}
