import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { atEnd } from '../setup/at-end.ts'
import { assertNoSurprises, CLOSE, exchangeRaw, gatewayTo, get, until } from './support.ts'

assertNoSurprises()

/** What the upstream, which goes on while this thread stands still, has in common with the test. */
const [REQUESTS, MAY_RESPOND, RESPONSES, PORT] = [0, 1, 2, 3]

const UPSTREAM = `
const { workerData: cells } = require('node:worker_threads')
const server = require('node:net').createServer((socket) => {
  socket.on('error', () => {})
  socket.on('data', async () => {
    Atomics.add(cells, ${REQUESTS}, 1)
    await Atomics.waitAsync(cells, ${MAY_RESPOND}, 0).value
    socket.write('HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok', () => {
      Atomics.add(cells, ${RESPONSES}, 1)
      Atomics.notify(cells, ${RESPONSES})
    })
  })
})
server.listen(0, '127.0.0.1', () => Atomics.store(cells, ${PORT}, server.address().port))
`

async function upstreamOfItsOwn() {
  const cells = new Int32Array(new SharedArrayBuffer(16))
  const worker = new Worker(UPSTREAM, { eval: true, workerData: cells })
  atEnd(() => worker.terminate())
  await until(() => Atomics.load(cells, PORT) > 0)
  return { cells, url: `http://127.0.0.1:${Atomics.load(cells, PORT)}` }
}

/**
 * Stands still until the upstream has responded so often, and then for so long. Behind an immediate timers come before sockets, so what
 * has waited for too long is looked at before anything is read.
 */
async function standStill(cells: Int32Array, responses: number, ms: number): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  Atomics.store(cells, MAY_RESPOND, 1)
  Atomics.notify(cells, MAY_RESPOND)
  for (let seen = 0; seen < responses; seen = Atomics.load(cells, RESPONSES)) Atomics.wait(cells, RESPONSES, seen, 1000)
  for (const end = performance.now() + ms; performance.now() < end; );
}

it('a response that is there already is passed on, however long this process was held up since', async () => {
  const { cells, url } = await upstreamOfItsOwn()
  const responseTimeoutMs = 1000
  const gateway = await gatewayTo(url, { responseTimeoutMs })
  const responses = [1, 2, 3].map(() => exchangeRaw(gateway.port, get('/', CLOSE)))
  await until(() => Atomics.load(cells, REQUESTS) === 3)
  await standStill(cells, 3, 3 * responseTimeoutMs)
  for (const { text } of await Promise.all(responses)) expect(text).toMatch(/^HTTP\/1\.1 200 OK/)
})

it('a request that waits for a connection gets the one that is free already, however long this process was held up since', async () => {
  const { cells, url } = await upstreamOfItsOwn()
  const queueTimeoutMs = 1000
  const gateway = await gatewayTo(url, { maxConnections: 1, queueTimeoutMs })
  const responses = [1, 2].map(() => exchangeRaw(gateway.port, get('/', CLOSE)))
  await until(() => Atomics.load(cells, REQUESTS) === 1 && gateway.forwarder.isFull())
  await standStill(cells, 1, 3 * queueTimeoutMs)
  for (const { text } of await Promise.all(responses)) expect(text).toMatch(/^HTTP\/1\.1 200 OK/)
})
