import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'

/** Writes bytes to a server as they are and gives back everything that comes until the server closes, or falls silent. */
export async function rawExchange(url: string, bytes: string | Buffer, silenceMs = 150): Promise<string> {
  const { protocol, hostname: host, port } = new URL(url)
  const place = { host, port: Number(port) }
  const encrypted = protocol === 'https:'
  const socket = encrypted ? tls.connect({ ...place, rejectUnauthorized: false }) : net.connect(place)
  socket.on('error', () => {})
  await once(socket, encrypted ? 'secureConnect' : 'connect')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write(bytes)
  await silence(socket, silenceMs)
  socket.destroy()
  return Buffer.concat(chunks).toString('latin1')
}

/** How long the first response may take, in milliseconds. */
const FIRST_MS = 2000
const LOOK_MS = 20
/** What one look counts at most. */
const MOST_MS = 50

/**
 * Resolves when a connection is closed or silent for so long, in milliseconds. Counted in short pieces: where this process
 * was held up, what came meanwhile is read before the next of them.
 *
 * @param firstMs how long the first bytes from now on may take
 */
export async function silence(socket: net.Socket, silenceMs: number, firstMs = FIRST_MS): Promise<void> {
  let left = firstMs
  socket.on('data', () => {
    left = silenceMs
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  for (let last = performance.now(); left > 0 && !socket.closed; ) {
    await Promise.race([sleep(LOOK_MS), closed])
    const now = performance.now()
    left -= Math.min(now - last, MOST_MS)
    last = now
  }
}

/** The status codes of the responses in what came back, in order. */
export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status))
}
