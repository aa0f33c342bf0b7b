import { createRequire } from 'node:module'
import type * as library from 'http-proxy-3'
import type { ProxyServer, ServerOptions } from 'http-proxy-3'
import type { ForwardResult, UpgradeExchange } from './contract.ts'
import { type Handshake, Tunnel, type TunnelOptions } from './tunnel.ts'

/** The upgrades under way. http-proxy-3 makes the handshake and joins the sockets; Tunnel decides about failures. */
export class Tunnels {
  readonly #options: TunnelOptions
  #proxy: ProxyServer | null = null
  readonly #open = new Map<Tunnel, Promise<ForwardResult>>()

  constructor(options: TunnelOptions) {
    this.#options = options
  }

  open(exchange: UpgradeExchange): Promise<ForwardResult> {
    const tunnel = new Tunnel(exchange, this.#options)
    this.#proxy ??= proxyTo(targetOf(this.#options))
    const ended = tunnel.run(this.#proxy.ws).finally(() => this.#open.delete(tunnel))
    this.#open.set(tunnel, ended)
    return ended
  }

  /** Resolves when all tunnels have ended by themselves. */
  async close(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open.values())
  }

  async destroy(): Promise<void> {
    for (const tunnel of this.#open.keys()) tunnel.destroy()
    await this.close()
  }
}

const require = createRequire(import.meta.url)

/** Loads the library with the first upgrade. `import()` would miss what the client sends meanwhile. */
function proxyTo(target: NonNullable<ServerOptions['target']>): ProxyServer {
  const { createProxyServer } = require('http-proxy-3') as typeof library
  // With `toProxy` the target of a request is not parsed again.
  const proxy = createProxyServer({ target, toProxy: true })
  // Each tunnel handles its own errors, but http-proxy-3 throws them if it has no other listener.
  proxy.on('error', () => {})
  proxy.on('proxyReqWs', (outgoing, req) => (req as unknown as Handshake).tunnel.prepare(outgoing))
  return proxy
}

function targetOf({
  origin,
  destination: { host, port, socket },
}: TunnelOptions): NonNullable<ServerOptions['target']> {
  if (socket === null) return origin.origin
  return { protocol: origin.protocol, host, port, socketPath: socket }
}
