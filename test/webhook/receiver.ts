import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import { listening } from '../setup/listening.ts'

/** A receiver that does with a connection what it is given to do, once it has the request. */
export interface RawReceiver {
  readonly url: string
  /** The requests, as they came. */
  readonly requests: string[]
  /** Connections that are open. */
  open(): number
  /** Bytes that were written to connections. */
  sent(): number
  close(): Promise<void>
}

export async function startReceiver(respond: (socket: Socket) => void): Promise<RawReceiver> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  let sent = 0
  const server = net.createServer((socket) => {
    sockets.add(socket)
    let text = ''
    let isWhole = false
    socket.on('error', () => {})
    socket.on('close', () => {
      sent += socket.bytesWritten
      sockets.delete(socket)
    })
    socket.on('data', (chunk: Buffer) => {
      text += chunk
      const [head = '', body] = text.split('\r\n\r\n')
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1])
      if (isWhole || body === undefined || Buffer.byteLength(body) < length) return
      isWhole = true
      requests.push(text)
      respond(socket)
    })
  })
  await listening(server)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=hidden`,
    requests,
    open: () => sockets.size,
    sent: () => sent,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
