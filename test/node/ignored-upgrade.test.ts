import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { prepareParser, readBehindUpgrade } from '../../src/node/ignored-upgrade.ts'

const IGNORED = 'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'
const BEHIND = 'GET /b HTTP/1.1\r\nHost: a\r\n\r\n'
const LAST = 'GET /c HTTP/1.1\r\nHost: a\r\n\r\n'

/** Paths of the requests that a server hears of, where one of them asks for an upgrade that it does not take. */
async function heard(packets: readonly string[], ignore: (req: http.IncomingMessage) => void, listens = false) {
  const paths: string[] = []
  const server = http.createServer(
    {
      shouldUpgradeCallback: (req) => {
        ignore(req)
        return false
      },
    },
    (req, res) => {
      paths.push(req.url ?? '')
      res.end()
    },
  )
  // Of a socket with such a listener Node hands over what was read by its stream.
  server.on('connection', (socket) => {
    prepareParser(socket)
    if (listens) socket.on('data', () => {})
  })
  server.on('clientError', (_error, socket) => {
    paths.push('error')
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  for (const packet of packets) {
    client.write(packet)
    await sleep(50)
  }
  client.destroy()
  server.close()
  return paths
}

it('Node loses what one read brings behind an upgrade that is not taken, which is why it is read again', async () => {
  expect(await heard([IGNORED + BEHIND, LAST], () => {})).toEqual(['/a', '/c'])
})

it.each([
  ['the parser reads by itself', false],
  ['its stream hands over', true],
])('nothing is lost behind an upgrade that is not taken, of a connection that %s', async (_what, listens) => {
  expect(await heard([IGNORED + BEHIND + IGNORED, LAST], readBehindUpgrade, listens)).toEqual(['/a', '/b', '/a', '/c'])
  expect(
    await heard([`${IGNORED + BEHIND}GET`, ' /c HTTP/1.1\r\nHost: a\r\n\r\n'], readBehindUpgrade, listens),
  ).toEqual(['/a', '/b', '/c'])
})

it.each([
  ['the parser reads by itself', false],
  ['its stream hands over', true],
])(
  'what is malformed behind it is an error, though Node reports none, of a connection that %s',
  async (_what, listens) => {
    expect(await heard([`${IGNORED}BOGUS\r\n\r\n`], readBehindUpgrade, listens)).toContain('error')
    expect(await heard([IGNORED, 'BOGUS\r\n\r\n'], readBehindUpgrade, listens)).toEqual(['/a', 'error'])
  },
)
