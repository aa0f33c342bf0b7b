/** The service of the zoo, in Express with a WebSocket of ws. Argument: the port. */
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { WebSocketServer } from 'ws'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const app = express()
app.get('/hello', (_req, res) => res.type('text').send('hello'))
app.post('/echo', async (req, res) => {
  let length = 0
  for await (const piece of req) length += piece.length
  res.type('text').send(`len=${length}`)
})
app.post('/early', (_req, res) => res.status(401).send('early'))
app.get('/range', (req, res) => {
  const [start, end] = req.get('range').slice('bytes='.length).split('-').map(Number)
  const part = LETTERS.slice(start, end + 1)
  res.status(206).set('Content-Range', `bytes ${start}-${end}/26`).type('text').send(part)
})
app.get('/events', async (_req, res) => {
  res.set('Content-Type', 'text/event-stream')
  for (const n of [1, 2, 3]) {
    res.write(`data: ${n}\n\n`)
    await sleep(10)
  }
  res.end()
})
const server = app.listen(Number(process.argv[2]), '127.0.0.1')
new WebSocketServer({ server, path: '/ws' }).on('connection', (socket) => {
  socket.on('message', (text) => socket.send(`echo ${text}`))
})
