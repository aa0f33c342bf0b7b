/**
 * An upstream in a process of its own, which tests kill and start again at its place: `{ listen, certificate }` as JSON, where
 * `listen` is a port or the path of a Unix socket. It says `ready` once it listens, and each response says which request of this process it is.
 */
import { createServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { WebSocketServer } from 'ws'

const { listen, certificate } = JSON.parse(process.argv[2])
const server = certificate === null ? createServer() : createHttpsServer(certificate)
let count = 0
server.on('request', async (req, res) => {
  const length = (await req.toArray()).reduce((sum, piece) => sum + piece.length, 0)
  res.end(`${req.method} ${length} ${++count}`)
})
new WebSocketServer({ server }).on('connection', (socket) =>
  socket.on('message', (text) => socket.send(`echo ${text}`)),
)
const place = typeof listen === 'number' ? { port: listen, host: '127.0.0.1' } : { path: listen }
server.listen(place, () => console.log('ready'))
