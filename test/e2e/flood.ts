import { readFileSync } from 'node:fs'
import http from 'node:http'

/**
 * Sends `GET` requests with the credentials of a file, one on a line, over and over, from another process than the gateway's, until its
 * input ends. Then it prints how many responses had each status: `{"401":12000}`.
 */
const [url = '', file = '', connections = '64', ...addresses] = process.argv.slice(2)
const credentials = readFileSync(file, 'utf8').trim().split('\n')
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(connections) })
const counts: Record<string, number> = {}
let sent = 0
let isOver = false

function send(): Promise<void> {
  const credential = credentials[sent % credentials.length]
  const localAddress = addresses.length === 0 ? undefined : addresses[sent % addresses.length]
  sent++
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${credential}` }
    const request = http.get(
      url,
      { agent, headers, ...(localAddress !== undefined && { localAddress }) },
      (response) => {
        count(String(response.statusCode))
        response.resume().on('close', resolve)
      },
    )
    request.on('error', () => {
      count('error')
      resolve()
    })
  })
}

function count(status: string): void {
  counts[status] = (counts[status] ?? 0) + 1
  if (sent % 1000 === 0) console.log(JSON.stringify(counts))
}

async function keepSending(): Promise<void> {
  while (!isOver) await send()
}

process.stdin.on('end', () => {
  isOver = true
})
process.stdin.resume()
await Promise.all(Array.from({ length: Number(connections) }, keepSending))
console.log(JSON.stringify(counts))
agent.destroy()
