import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'

/** Writes bytes to a server as they are and gives back everything that comes until the server closes, or falls silent. */
export async function rawExchange(url: string, bytes: string | Buffer, silenceMs = 300): Promise<string> {
  const { protocol, hostname: host, port } = new URL(url)
  const place = { host, port: Number(port) }
  const encrypted = protocol === 'https:'
  const socket = encrypted ? tls.connect({ ...place, rejectUnauthorized: false }) : net.connect(place)
  socket.on('error', () => {})
  await once(socket, encrypted ? 'secureConnect' : 'connect')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write(bytes)
  await new Promise<void>((resolve) => {
    let timer = setTimeout(resolve, 2000)
    socket.on('data', () => {
      clearTimeout(timer)
      timer = setTimeout(resolve, silenceMs)
    })
    socket.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
  socket.destroy()
  return Buffer.concat(chunks).toString('latin1')
}

/** The status codes of the responses in what came back, in order. */
export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status))
}
