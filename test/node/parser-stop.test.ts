import { once } from 'node:events'
import http, { type ServerResponse } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { isStopped, stopAtNextHead } from '../../src/node/parser-stop.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const CONNECT = 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'
const UPGRADE = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

/** What becomes of a packet, and of one behind it, on a server that stops at its first request. */
async function received(behind: string, onRequest: (socket: Socket) => void) {
  const events: string[] = []
  const server = http.createServer((req, res: ServerResponse) => {
    events.push('request')
    onRequest(req.socket)
    res.end()
  })
  for (const event of ['upgrade', 'connect']) server.on(event, () => events.push(event))
  server.on('clientError', (error: NodeJS.ErrnoException) =>
    events.push(isStopped(error) ? 'stopped' : `${error.code}`),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [accepted] = (await once(server, 'connection')) as [Socket]
  client.write(GET + behind)
  await once(client, 'data')
  client.write(GET)
  const sent = 2 * GET.length + behind.length
  await expect.poll(() => accepted.bytesRead).toBe(sent)
  client.destroy()
  server.close()
  return events
}

it.each([
  ['requests', GET.repeat(100), ['request', 'stopped', 'stopped']],
  ['a CONNECT', CONNECT, ['request']],
  ['an upgrade', UPGRADE, ['request']],
])('%s behind the request at which the parser is stopped are not looked at', async (_what, behind, events) => {
  expect(await received(behind, stopAtNextHead)).toEqual(events)
})

it('Node looks at all that one read has brought otherwise', async () => {
  expect(await received(GET.repeat(100), () => {})).toEqual(Array(102).fill('request'))
})
