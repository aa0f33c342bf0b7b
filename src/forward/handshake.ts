import { createProxyServer, type ProxyServer, type ServerOptions } from 'http-proxy-3'
import type { ForwardResult, UpgradeExchange } from './contract.ts'
import { type Handshake, Tunnel, type TunnelOptions } from './tunnel.ts'

/** The upgrades under way. http-proxy-3 shakes hands and joins the sockets; how it fails and responds is decided by Tunnel. */
export class Tunnels {
  readonly #options: TunnelOptions
  readonly #proxy: ProxyServer
  readonly #open = new Map<Tunnel, Promise<ForwardResult>>()

  constructor(options: TunnelOptions) {
    this.#options = options
    // toProxy: the target is not parsed again.
    this.#proxy = createProxyServer({ target: targetOf(options), toProxy: true })
    // Each tunnel hears of its own errors; with no listener but its own http-proxy-3 throws them.
    this.#proxy.on('error', () => {})
    this.#proxy.on('proxyReqWs', (outgoing, req) => (req as unknown as Handshake).tunnel.prepare(outgoing))
  }

  open(exchange: UpgradeExchange): Promise<ForwardResult> {
    const tunnel = new Tunnel(exchange, this.#options)
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

function targetOf({
  origin,
  destination: { host, port, socket },
}: TunnelOptions): NonNullable<ServerOptions['target']> {
  if (socket === null) return origin.origin
  return { protocol: origin.protocol, host, port, socketPath: socket }
}
