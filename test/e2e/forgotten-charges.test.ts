import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { atEnd } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { startApp, startUpstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

it('a response that is cheaper than its reserve takes nothing from others, if Redis has forgotten the reserve, and the operator is told', async () => {
  const answers: (() => void)[] = []
  const upstream = await startUpstream(({ url }, res) => {
    if (url !== '/slow') return void res.end('ok')
    answers.push(() => res.setHeader('X-Tokens', '5').end())
  })
  const server = await sharedRedis()
  const redis = new Redis(server.url)
  atEnd(() => redis.disconnect())
  const app = await startApp(
    yaml(
      upstream.url,
      `store_options: { prefix: ${server.prefix} }
quota: { baselines: { personal: { read: { 1h: 5000 } }, global: { read: { 1h: 5000 } } } }
routes:
  - { match: GET /slow, category: read, cost: 400, settle: { header: X-Tokens, max: 500 } }
  - { match: GET /fast, category: read, cost: 100 }`,
      server.url,
    ),
  )
  const ask = (path: string, user: string) => fetch(app.url + path, { headers: bearer(user) })
  for (const user of ['bob', 'bob', 'carol']) await ask('/fast', user)
  const names = await redis.keys(`{${server.prefix}}*`)
  const dumps = await Promise.all(names.map((name) => redis.dumpBuffer(name)))
  const slow = ask('/slow', 'alice')
  await expect.poll(() => answers.length).toBe(1)
  await redis.del(...(await redis.keys(`{${server.prefix}}*`)))
  for (const [i, name] of names.entries()) await redis.restore(name, 0, dumps[i] as Buffer)
  answers[0]?.()
  expect((await slow).headers.get('x-tollgate-charged')).toBe('5')
  await ask('/fast', 'carol')
  const quota = async (user: string) => {
    const { windows } = (await (await fetch(`${app.url}/me/quota`, { headers: bearer(user) })).json()) as {
      windows: { read: { scope: string; used: number }[] }
    }
    return windows.read.map(({ scope, used }) => [scope, used])
  }
  expect(await quota('bob')).toEqual([
    ['Personal', 200],
    ['Global', 400],
  ])
  const ready = (await (await fetch(`${app.admin}/readyz`)).json()) as { degraded: string[] }
  expect(ready.degraded.join()).toMatch(/the store has forgotten up to \d+ tokens charged since 20/)
  const metrics = await (await fetch(`${app.admin}/metrics`)).text()
  expect(metrics).toMatch(/tollgate_refunds_void_total 1\n/)
  expect(metrics).toMatch(/tollgate_charges_lost_tokens_total [4-7]00\n/)
})
