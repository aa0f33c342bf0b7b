import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { boundReads } from '../../src/node/long-reads.ts'

const SENT = 4_000_000
const READ = 64 * 1024
/** What a connection brings before it waits. */
const LONG = 256 * 1024

it('a connection that has brought 256 KiB waits for its turn, and brings everything in the end', async () => {
  const server = net.createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [socket] = (await once(server, 'connection')) as [Socket]
  const brought: number[] = []
  boundReads(socket, {
    onManyPieces: () => {},
    take: (bytes) => {
      brought.push(bytes)
      return nextTurn()
    },
  })
  // As much of it waits in the kernel as that takes, from which libuv would read two megabytes in one turn.
  client.write(Buffer.alloc(SENT))
  await nextTurn()
  let received = 0
  socket.on('data', (piece: Buffer) => (received += piece.length)).resume()
  let [before, most] = [0, 0]
  while (received < SENT) {
    await nextTurn()
    most = Math.max(most, received - before)
    before = received
  }
  expect(most).toBeLessThanOrEqual(LONG + READ)
  expect(brought.length).toBeGreaterThanOrEqual(Math.floor(SENT / (LONG + READ)))
  client.destroy()
  socket.destroy()
  server.close()
})
