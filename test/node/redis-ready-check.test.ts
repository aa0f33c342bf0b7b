import { Redis } from 'ioredis'
import { beforeAll, expect, it } from 'vitest'
import { judgeReadyCheck } from '../../src/node/redis-ready-check.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})

it('a connection is used if what ioredis asks of it is judged to be right', async () => {
  const judged: (string | undefined)[] = []
  const client = new Redis(server.url, { lazyConnect: true })
  judgeReadyCheck(client, (error, info) => {
    judged.push(info)
    return { error, info }
  })
  await client.connect()
  expect(judged).toEqual([expect.stringContaining('redis_version')])
  expect(await client.info('server')).toContain('redis_version')
  expect(await client.info()).toContain('used_memory')
  expect(judged).toHaveLength(1)
  client.disconnect()
})

it('a connection is given up and tried again if it is judged to be wrong', async () => {
  let judged = 0
  const errors: string[] = []
  const client = new Redis(server.url, { lazyConnect: true, retryStrategy: () => 1 })
  client.on('error', ({ message }: Error) => errors.push(message))
  judgeReadyCheck(client, (error, info) => {
    judged++
    return judged < 3 ? { error: new Error(`wrong ${judged}`), info } : { error, info }
  })
  await client.connect().catch(() => {})
  await expect.poll(() => client.status).toBe('ready')
  expect(errors).toEqual(
    ['Ready check failed: wrong 1', 'Ready check failed: wrong 2'].map((text) =>
      expect.stringContaining(text.slice(-7)),
    ),
  )
  client.disconnect()
})
