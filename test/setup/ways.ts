import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { atEnd } from './at-end.ts'
import { type Certificate, makeCa, makeCertificate } from './openssl.ts'

/**
 * The ways that a request can take: plain or by TLS from its client, plain or by TLS to the upstream. Bytes come in other
 * portions by TLS: one read of the socket brings several records.
 */
export interface Way {
  readonly name: string
  /** Whether clients come by TLS. */
  readonly clients: boolean
  /** Whether the upstream is reached by TLS. */
  readonly upstream: boolean
}

export const WAYS: readonly Way[] = [
  { name: 'plain clients, plain upstream', clients: false, upstream: false },
  { name: 'plain clients, TLS upstream', clients: false, upstream: true },
  { name: 'TLS clients, plain upstream', clients: true, upstream: false },
  { name: 'TLS clients, TLS upstream', clients: true, upstream: true },
]

/** Everything plain, and everything by TLS: for tests that take too long for four. */
export const BOTH_WAYS: readonly Way[] = WAYS.filter(({ clients, upstream }) => clients === upstream)

/** Certificates of one test file. */
export interface Certificates {
  /** Keys of the configuration, in which clients come as the way says. */
  listener(way: Way): string
  /** Keys of `upstream`, without its URL. */
  upstream(way: Way): string
  /** A server that takes connections as the upstream of that way, not yet listening. */
  server(way: Way, onConnection: (socket: net.Socket) => void): net.Server
  remove(): Promise<void>
}

/** Makes an authority and a certificate of 127.0.0.1, by the command `openssl`. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-ways-'))
  const ca = makeCa(folder, 'ca')
  const own: Certificate = makeCertificate(folder, 'own', ca, 'IP:127.0.0.1')
  return {
    listener: ({ clients }) => (clients ? `tls: { cert: "${own.certFile}", key: "${own.keyFile}" }` : ''),
    upstream: ({ upstream }) => (upstream ? `tls: { ca: "${ca.certFile}" }` : ''),
    server: ({ upstream }, onConnection) =>
      upstream
        ? tls.createServer({ cert: own.cert, key: own.key, noDelay: true }, onConnection)
        : net.createServer({ noDelay: true }, onConnection),
    remove: atEnd(() => rmSync(folder, { recursive: true })),
  }
}

/** The URL of a server that listens on the loopback as the upstream of that way. */
export function upstreamUrl(way: Way, server: net.Server): string {
  return `${way.upstream ? 'https' : 'http'}://127.0.0.1:${(server.address() as net.AddressInfo).port}`
}

/** A connection of a client to the gateway. What is written before it is open waits. */
export function connectTo(url: string, options: { allowHalfOpen?: boolean } = {}): net.Socket {
  const { protocol, port } = new URL(url)
  const place = { ...options, host: '127.0.0.1', port: Number(port), noDelay: true }
  const socket = protocol === 'https:' ? tls.connect({ ...place, rejectUnauthorized: false }) : net.connect(place)
  return socket.on('error', () => {})
}
