import { createRequire } from 'node:module'
import type * as library from 'http-proxy-3'
import type { ProxyServer, ServerOptions } from 'http-proxy-3'
import type { ForwardResult, UpgradeExchange } from './contract.ts'
import { type Handshake, Tunnel, type TunnelOptions } from './tunnel.ts'

/** The upgrades under way. http-proxy-3 shakes hands and joins the sockets; how it fails and responds is decided by Tunnel. */
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

/** The library is loaded with the first upgrade, and not by `import()`: what the client sends meanwhile would be missed. */
function proxyTo(target: NonNullable<ServerOptions['target']>): ProxyServer {
  const { createProxyServer } = require('http-proxy-3') as typeof library
  // toProxy: the target is not parsed again.
  const proxy = createProxyServer({ target, toProxy: true })
  // Each tunnel hears of its own errors; with no listener but its own http-proxy-3 throws them.
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
