import { Redis } from 'ioredis'
import { beforeEach, expect, it } from 'vitest'
import { startSentinel } from '../faults/redis-groups.ts'
import { atEnd } from '../setup/at-end.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

const WAIT = { timeout: 60_000 }

let primary: RedisServer
let sentinel: Awaited<ReturnType<typeof startSentinel>>
/** Of the default user of the sentinel. */
let admin: Redis
let upstream: Upstream
let app: RunningApp
beforeEach(async () => {
  primary = await startRedis()
  sentinel = await startSentinel(primary.port)
  admin = new Redis(sentinel.port, '127.0.0.1')
  atEnd(() => admin.disconnect())
  await passwords('>first')
  upstream = await startUpstream()
  app = await startApp(configuration('first'))
})

async function passwords(...rules: string[]): Promise<void> {
  await admin.acl('SETUSER', 'tollgate', 'on', 'allchannels', '+@all', ...rules)
}

function configuration(password: string): string {
  const rest = `
store_options: { deadline: 5s, sentinel: { username: tollgate, password: ${password} } }
quota:
  baselines: { personal: { read: { 1h: 100000 } }, global: { read: { 1h: 100000 } } }
routes: [{ match: GET /, category: read, cost: 1 }]
`
  return yaml(upstream.url, rest, `redis+sentinel://127.0.0.1:${sentinel.port}/quota`)
}

const headers = bearer('alice')
const ask = (path = '/') => fetch(app.url + path, { headers })

async function used(): Promise<number> {
  const { windows } = (await (await ask('/me/quota')).json()) as { windows: { read: { used: number }[] } }
  return windows.read[0]?.used ?? 0
}

/** Charges without a pause until its end. */
function traffic() {
  const statuses: number[] = []
  let isOver = false
  const lanes = Array.from({ length: 4 }, async () => {
    while (!isOver) statuses.push((await ask()).status)
  })
  return {
    goesOn: async () => {
      const before = statuses.length
      await expect.poll(() => statuses.length, WAIT).toBeGreaterThan(before + 50)
    },
    end: async () => {
      isOver = true
      await Promise.all(lanes)
      return statuses
    },
  }
}

/** Names of its connections at the sentinel. */
async function connections(): Promise<string[]> {
  const list = String(await admin.client('LIST'))
  return [...list.matchAll(/^id=(\d+) .* user=tollgate /gm)].map(([, id]) => String(id))
}

it('the login of sentinels is rotated by a reload: no request is refused, and each is charged once', async () => {
  const { goesOn, end } = traffic()
  await goesOn()
  const old = await connections()
  expect(old).not.toEqual([])
  await passwords('>second')
  await app.reload(configuration('second'))
  await goesOn()
  await passwords('<first')
  // Whoever asks a sentinel from now on does it by the new password.
  await admin.client('KILL', 'USER', 'tollgate')
  await goesOn()
  await expect.poll(connections, WAIT).not.toEqual([])
  expect((await connections()).filter((id) => old.includes(id))).toEqual([])
  const statuses = await end()
  expect(statuses.filter((status) => status !== 200)).toEqual([])
  expect(await used()).toBe(statuses.length)
})
