import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { startApp } from '../e2e/harness.ts'
import { startProgram } from '../guides/program.ts'
import { startNginx } from '../setup/nginx.ts'
import { zooTool } from '../setup/zoo-tools.ts'
import type { Upstream } from './upstreams.ts'

/** A proxy before an upstream. */
export interface Peer {
  readonly url: string
  stop(): Promise<void>
}

type Before = Pick<Upstream, 'url' | 'tollgate' | 'nginx'>

/** Each gateway of this process listens for its end. */
process.setMaxListeners(0)

/** Anybody may ask for anything, and is charged for it. */
export async function tollgateBefore({ url, tollgate }: Before): Promise<Peer> {
  const app = await startApp(`
listen: 127.0.0.1:0
upstream: { url: "${url}", ${tollgate} }
store: "sqlite::memory:"
admin: { listen: 127.0.0.1:0, token: test-admin-token-0001 }
auth: { anonymous: { by: address } }
quota: { baselines: { personal: { read: { 1h: 1000000 } }, global: { read: { 1h: 1000000 } } } }
routes: [{ match: "* /*", category: read, cost: 1, anonymous: true }]
log: { level: fatal, requests: none }
`)
  return { url: app.url, stop: app.stop }
}

/** As its documentation puts it before a service, with WebSockets, connections that are kept, and bodies of any length. */
export async function nginxBefore({ url, nginx }: Before): Promise<Peer> {
  const host = nginx.includes('Host') ? '' : 'proxy_set_header Host $http_host;'
  const { port, stop } = await startNginx(`
set $up ''; set $protocol ''; if ($http_upgrade ~* websocket) { set $up upgrade; set $protocol websocket; }
location / { proxy_pass ${url}; proxy_http_version 1.1; client_max_body_size 0; ${host} ${nginx}
  proxy_set_header Upgrade $protocol; proxy_set_header Connection $up; }`)
  return { url: `http://127.0.0.1:${port}`, stop }
}

/** `httputil.ReverseProxy` of Go; `null` without a Go. */
export async function goBefore({ url }: Pick<Upstream, 'url'>): Promise<Peer | null> {
  const command = zooTool('go')
  if (command === null) return null
  const { port, stop } = await startProgram(({ port }) => ({ command, args: ['proxy', `${port}`, url] }))
  return { url: `http://127.0.0.1:${port}`, stop }
}

export interface Counter {
  readonly url: string
  /** Of the connections that came. */
  count: number
  stop(): Promise<void>
}

/** Passes on all bytes between clients and a peer, and counts connections. */
export async function countBefore({ url }: Peer): Promise<Counter> {
  const { port } = new URL(url)
  const server = createServer({ allowHalfOpen: true }, (client) => {
    counter.count++
    const peer = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
    for (const [from, to] of [
      [client, peer],
      [peer, client],
    ] as const) {
      from.pipe(to)
      from.on('error', () => to.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const counter = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: 0,
    stop: async () => void server.close(),
  }
  return counter
}
