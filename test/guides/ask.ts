import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'

/** Where requests go, and how they name the place. */
export interface Door {
  readonly port: number
  /** What the client has in its address line: the scheme, and what it sends as Host. */
  readonly origin: string
  /** Of the authority, where this port speaks TLS. */
  readonly ca?: string
}

export interface Ask {
  readonly method?: string
  /** Sent as it stands. */
  readonly path: string
  readonly headers?: http.OutgoingHttpHeaders
  /** The address that it comes from, of the loopback. */
  readonly from?: string
}

export interface Reply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

/** One request on a connection of its own. */
export async function ask(door: Door, { method = 'GET', path, headers = {}, from }: Ask): Promise<Reply> {
  const { host, hostname } = new URL(door.origin)
  const options = { host: '127.0.0.1', port: door.port, method, path, agent: false as const, localAddress: from }
  const all = { host, ...headers }
  const request =
    door.ca === undefined
      ? http.request({ ...options, headers: all })
      : https.request({ ...options, headers: all, ca: door.ca, servername: hostname })
  const arrived = once(request, 'response') as Promise<[http.IncomingMessage]>
  request.end()
  const [response] = await arrived
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() }
}

/** Another address of the loopback for each name. */
export function addressOf(name: string): string {
  const [a = 0, b = 0, c = 0] = createHash('sha256').update(name).digest()
  return `127.${a}.${b}.${1 + (c % 254)}`
}
