import { once } from 'node:events'
import net from 'node:net'
import { expect, it } from 'vitest'
import { freePort } from './redis.ts'

it('a port that somebody listens on is not given: the next one is tried', async () => {
  const taken = net.createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as net.AddressInfo
  const free = await freePort()
  const draws = [port, free, free + 1]
  try {
    expect(await freePort(() => draws.shift() as number)).not.toBe(port)
  } finally {
    taken.close()
  }
})

it('files that run at once are given no port twice either', async () => {
  const lane = Number(process.env.VITEST_POOL_ID) % 8
  for (let i = 0; i < 50; i++) {
    const port = await freePort()
    expect([port % 8, port >= 10_000, port < 32_000]).toEqual([lane, true, true])
  }
})
