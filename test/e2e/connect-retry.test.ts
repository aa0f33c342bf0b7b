import { afterEach, expect, it } from 'vitest'
import { isCharged, isGivenBack } from '../observe/settled.ts'
import { freePort } from '../setup/redis.ts'
import { countByUser, type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** `upstream.connect_retry`, with the charges and the bounds of a whole gateway. */

let app: RunningApp
let upstream: Upstream | null = null
afterEach(async () => {
  upstream = null
})

const QUOTA = 'quota: { baselines: { personal: { read: { 1h: 100 } }, global: { read: { 1h: 1000 } } } }'
const ROUTES = 'routes: [{ match: "GET|POST /*", category: read, cost: 2 }]'

async function start(retry: string, rest = ''): Promise<number> {
  const port = await freePort()
  app = await startApp(
    yaml(`http://127.0.0.1:${port}`, `${QUOTA}\n${ROUTES}\n${rest}`, undefined, `connect_retry: ${retry}`),
  )
  return port
}

const ask = (method: string) => fetch(`${app.url}/a`, { method, headers: bearer('alice') })
const charged = () => app.observations.filter(isCharged).length
const failures = () => app.requests().filter(({ clientStatus }) => clientStatus >= 500)

it('requests that came while the upstream restarted are charged once each, and none counts as a failure', async () => {
  const port = await start('1m')
  const responses = Array.from({ length: 20 }, (_, i) => ask(i % 2 === 0 ? 'GET' : 'POST'))
  await expect.poll(charged).toBe(20)
  upstream = await startUpstream(undefined, port)
  expect((await Promise.all(responses)).map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(countByUser(upstream)).toEqual(new Map([['alice', 20]]))
  expect(failures()).toEqual([])
  expect(charged()).toBe(20)
})

it('a request for which the upstream never comes back is one failure, and gets its charge back', async () => {
  await start('200ms')
  expect((await ask('POST')).status).toBe(502)
  await expect.poll(() => app.observations.filter(isGivenBack).length).toBe(1)
  await expect.poll(failures).toHaveLength(1)
})

it('those who wait hold their places, so that no user has more of them waiting than requests under way', async () => {
  const port = await start('1m', 'edge: { max_in_flight: 8 }')
  const responses = Array.from({ length: 4 }, () => ask('POST'))
  await expect.poll(charged).toBe(4)
  expect((await ask('POST')).status).toBe(429)
  upstream = await startUpstream(undefined, port)
  expect((await Promise.all(responses)).map(({ status }) => status)).toEqual(Array(4).fill(200))
})

it('by default a request is refused at once while the upstream takes no connections', async () => {
  await start('0s')
  expect((await ask('POST')).status).toBe(502)
  await expect.poll(failures).toHaveLength(1)
})
