import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { freePort, sharedRedis } from '../setup/redis.ts'
import { startApp, startUpstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { spawnGateway } from './process.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

it('what a gateway noticed that was then killed is delivered by another one, once its lease is over', async () => {
  const folder = tempFolder()
  const redis = await sharedRedis()
  const upstream = await startUpstream()
  /** The attempt of the one that is killed never gets a response. */
  const held: ServerResponse[] = []
  let isHolding = true
  const receiver = await startUpstream((_seen, res) => {
    if (isHolding) held.push(res)
    else res.end()
  })
  const text = yaml(
    upstream.url,
    `
store_options: { prefix: "${redis.prefix}" }
quota: { baselines: { personal: { read: { 1h: 2 } }, global: { read: { 1h: 1000 } } } }
routes: [{ match: "GET /*", category: read }]
alerts:
  - { name: full, scope: personal, category: read, window: 1h, at: [100%], webhook: { url: "${receiver.url}/", secret: "${SECRET}" } }`,
    redis.url,
  )
  const url = `http://127.0.0.1:${await freePort()}`
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(file, text.replace('listen: 127.0.0.1:0', `listen: ${new URL(url).host}`))
  const killed = await spawnGateway(file, url)
  try {
    for (let i = 0; i < 2; i++) await (await fetch(`${url}/x`, { headers: bearer('alice') })).arrayBuffer()
    await expect.poll(() => receiver.seen.length, { timeout: 60_000 }).toBe(1)
    await killed.end('SIGKILL')
    isHolding = false
    await startApp(text)
    await expect.poll(() => receiver.seen.length, { timeout: 120_000, interval: 100 }).toBe(2)
    const events = receiver.seen.map(({ headers, body }) =>
      new Webhook(SECRET).verify(body, headers as Record<string, string>),
    )
    expect(events[1]).toEqual(events[0])
    expect(events[1]).toMatchObject({ data: { alert: 'full', user: 'alice', threshold: 1 } })
  } finally {
    await killed.end('SIGKILL')
    for (const res of held) res.destroy()
  }
}, 240_000)
