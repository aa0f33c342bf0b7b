import net from 'node:net'
import tls from 'node:tls'

/**
 * A process of its own: 300 connections of two addresses that send requests without end, read the responses, and come back when they are
 * ended. Its arguments are the URL, the number of requests in a packet, and milliseconds between packets, 0 for behind the responses.
 */
const [url = '', count = '', interval = ''] = process.argv.slice(2)
const { hostname, port, protocol } = new URL(url)
const REQUESTS = 'GET /pub/x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(Number(count))

function open(i: number): void {
  const place = { host: hostname, port: Number(port), localAddress: `127.0.2.${1 + (i % 2)}` }
  const isSecure = protocol === 'https:'
  const socket = isSecure ? tls.connect({ ...place, rejectUnauthorized: false }) : net.connect(place)
  const send = (): void => {
    if (socket.destroyed) return
    socket.write(REQUESTS, () => interval !== '0' && setTimeout(send, Number(interval)))
  }
  let responses = 0
  socket.on('data', (piece) => {
    responses += piece.toString('latin1').split('HTTP/1.1 200').length - 1
    if (interval !== '0' || responses < Number(count)) return
    responses = 0
    send()
  })
  socket.once(isSecure ? 'secureConnect' : 'connect', send)
  socket.on('error', () => {})
  socket.once('end', () => socket.destroy())
  socket.once('close', () => setTimeout(open, 20, i))
}

for (let i = 0; i < 300; i++) open(i)
