import { createServer, Socket } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { patientClose } from '../../src/lib/closing.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

it('a server that has closed leaves nothing behind that would keep the process', async () => {
  await patientClose(createServer(), async () => {})()
  expect(vi.getTimerCount()).toBe(0)
})

it('a connection that is not over after 2 seconds is broken off', async () => {
  const server = createServer()
  const closed = Promise.withResolvers<void>()
  const close = patientClose(server, () => closed.promise)
  const socket = new Socket()
  server.emit('connection', socket)
  const closing = close()
  vi.advanceTimersByTime(1_999)
  expect(socket.destroyed).toBe(false)
  vi.advanceTimersByTime(1)
  expect(socket.destroyed).toBe(true)
  closed.resolve()
  await closing
})
