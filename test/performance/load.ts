import { once } from 'node:events'
import net from 'node:net'

/** Requests at a time, each on a connection of its own that stays open. */
const CONNECTIONS = 64

/** Clients that each send their next request when they have their response. */
export interface Load {
  /** Sends the heads in turn until so many responses are here. @throws Error for a response of another status */
  run(heads: readonly string[], requests: number, status: number): Promise<void>
  close(): void
}

export async function openLoad(port: number): Promise<Load> {
  const sockets = Array.from({ length: CONNECTIONS }, () => net.connect({ port, host: '127.0.0.1', noDelay: true }))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return {
    run: (heads, requests, status) => run(sockets, heads, requests, status),
    close: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function run(sockets: net.Socket[], heads: readonly string[], requests: number, status: number): Promise<void> {
  let [sent, received] = [0, 0]
  return new Promise((resolve, reject) => {
    for (const socket of sockets) {
      let got = ''
      const send = (): void => {
        if (sent < requests) socket.write(heads[sent++ % heads.length] as string)
      }
      socket.removeAllListeners('data').on('data', (bytes: Buffer) => {
        got += bytes.toString('latin1')
        if (!isWhole(got)) return
        if (!got.startsWith(`HTTP/1.1 ${status} `)) reject(new Error(`not ${status}: ${got}`))
        got = ''
        if (++received === requests) resolve()
        else send()
      })
      socket.removeAllListeners('close').once('close', () => reject(new Error('the gateway closed a connection')))
      send()
    }
  })
}

function isWhole(response: string): boolean {
  const end = response.indexOf('\r\n\r\n')
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(response)?.[1]
  return end > 0 && length !== undefined && response.length >= end + 4 + Number(length)
}
