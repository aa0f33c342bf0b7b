import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { lookForLateRequestsTogether } from '../../src/node/late-requests.ts'

const TIMEOUTS = { headersTimeout: 100, requestTimeout: 100 }

async function listening(server: Server): Promise<Server> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(async () => void (server.listening && server.close()))
  return server
}

/** Sends half a head. @returns what comes until the connection ends */
function halfAHead(server: Server): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n')
  return text(socket)
}

it('a late request is ended by the looks that come together, and no more by an interval of Node', async () => {
  const server = createServer({ ...TIMEOUTS, connectionsCheckingInterval: 20 })
  lookForLateRequestsTogether(server, 3_600_000)
  await listening(server)
  const response = halfAHead(server)
  expect(await Promise.race([response, sleep(500, 'still waiting')])).toBe('still waiting')
  server.closeAllConnections()
  await response.catch(() => {})

  const looking = createServer({ ...TIMEOUTS, connectionsCheckingInterval: 3_600_000 })
  lookForLateRequestsTogether(looking, 20)
  expect(await halfAHead(await listening(looking))).toMatch(/^HTTP\/1.1 408 /)
})

it('a server that listens again is looked at as before', async () => {
  const server = createServer({ ...TIMEOUTS, connectionsCheckingInterval: 3_600_000 })
  lookForLateRequestsTogether(server, 20)
  await listening(server)
  await new Promise((resolve) => server.close(resolve))
  expect(await halfAHead(await listening(server))).toMatch(/^HTTP\/1.1 408 /)
})
