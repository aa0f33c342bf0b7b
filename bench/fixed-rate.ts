import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

/**
 * An open-loop load generator: sends requests at a fixed rate, whether or not the earlier ones have been answered. The
 * time of a request counts from its turn, also where it had to wait for a connection: a server that stalls cannot hide
 * its slow answers by slowing the generator down.
 *
 * Arguments: port, path, file with one credential a line, requests a second, number of requests.
 */

const [port = 0, path = '/', credentials = '', rate = 1000, count = 1000] = process.argv
  .slice(2)
  .map((text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text)) as [number, string, string, number, number]

const requests = readFileSync(credentials, 'utf8')
  .trim()
  .split('\n')
  .map((token) => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: bench.local\r\nAuthorization: Bearer ${token}\r\n\r\n`))

const MAX_CONNECTIONS = 512
const GIVE_UP_MS = 5000

const times: number[] = []
const idle: Socket[] = []
const turns: number[] = []
let open = 0
let sent = 0
let failed = 0

function send(turn: number): void {
  const socket = idle.pop()
  if (socket !== undefined) write(socket, turn)
  else if (open < MAX_CONNECTIONS) openFor(turn)
  else turns.push(turn)
}

const startedAt = new WeakMap<Socket, number>()

function write(socket: Socket, turn: number): void {
  startedAt.set(socket, turn)
  socket.write(requests[sent++ % requests.length] as Buffer)
}

function openFor(turn: number): void {
  open++
  let text = ''
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => write(socket, turn))
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
    if (!isComplete(text)) return
    answered(socket, text)
    text = ''
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    open--
    const at = idle.indexOf(socket)
    if (at !== -1) idle.splice(at, 1)
  })
}

function isComplete(text: string): boolean {
  const head = text.indexOf('\r\n\r\n')
  if (head === -1) return false
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
  return length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length >= head + 4 + Number(length)
}

function answered(socket: Socket, text: string): void {
  times.push(performance.now() - (startedAt.get(socket) ?? 0))
  if (text[9] !== '2') failed++
  const waiting = turns.shift()
  if (waiting !== undefined) write(socket, waiting)
  else idle.push(socket)
}

function percentile(share: number): number {
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
}

function finish(): void {
  times.sort((a, b) => a - b)
  const unanswered = count - times.length
  const result = { requests: count, failed: failed + unanswered, p50: percentile(0.5), p99: percentile(0.99) }
  console.log(`RESULT ${JSON.stringify(result)}`)
  process.exit(0)
}

const start = performance.now()
let due = 0

function tick(): void {
  const now = performance.now()
  const wanted = Math.min(count, Math.floor(((now - start) * rate) / 1000))
  for (; due < wanted; due++) send(now)
  const overdue = now - start > (count / rate) * 1000 + GIVE_UP_MS
  if (times.length >= count || overdue) finish()
  else setTimeout(tick, 1)
}
tick()
