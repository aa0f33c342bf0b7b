import { once } from 'node:events'
import net from 'node:net'

/** Writes bytes to a server as they are and gives back everything that comes until the server closes, or falls silent. */
export async function rawExchange(url: string, bytes: string | Buffer, silenceMs = 300): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = net.connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
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
