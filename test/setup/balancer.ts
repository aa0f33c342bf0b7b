import { once } from 'node:events'
import net from 'node:net'
import { atEnd } from './at-end.ts'

/** A replica as a load balancer knows it: where it takes requests, and where it says whether it is ready. */
export interface Endpoint {
  readonly url: string
  readonly admin: string
}

/** Hands on whole connections, as a Service of Kubernetes does. */
export interface Balancer {
  readonly url: string
  add(endpoint: Endpoint): void
  /** Those that were ready when they were asked last. */
  ready(): readonly Endpoint[]
  close(): Promise<void>
}

/** How often replicas are asked, in milliseconds. */
const ASK_MS = 100

/** New connections go to the next replica whose `/readyz` was 200; those that are open stay where they are. */
export async function startBalancer(): Promise<Balancer> {
  const endpoints: Endpoint[] = []
  let ready: Endpoint[] = []
  let turn = 0
  const open = new Set<net.Socket>()
  const server = net.createServer({ allowHalfOpen: true }, (client) => {
    const next = ready[turn++ % ready.length]
    if (next === undefined) return void client.destroy()
    const { hostname, port } = new URL(next.url)
    const replica = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    client.pipe(replica)
    replica.pipe(client)
    for (const [one, other] of [
      [client, replica],
      [replica, client],
    ] as const) {
      open.add(one)
      one.setNoDelay(true)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        if (!one.readableEnded) other.destroy()
      })
    }
  })

  async function ask(): Promise<void> {
    const responses = await Promise.all(endpoints.map(({ admin }) => fetch(`${admin}/readyz`).catch(() => null)))
    ready = endpoints.filter((_, i) => responses[i]?.status === 200)
  }

  const timer = setInterval(ask, ASK_MS)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    add: (endpoint) => void endpoints.push(endpoint),
    ready: () => ready,
    close: atEnd(async () => {
      clearInterval(timer)
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    }),
  }
}
