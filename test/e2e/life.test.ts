import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../setup/redis.ts'
import { type Backend, startBackend } from './harness.ts'
import { bearer } from './jwt.ts'
import { type GatewayProcess, spawnGateway } from './process.ts'

let folder: string
let backend: Backend
let port: number
let url: string
let running: GatewayProcess[]
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-life-'))
  backend = await startBackend((seen, res) => void setTimeout(() => res.end('ok'), seen.url === '/slow' ? 400 : 0))
  port = await freePort()
  url = `http://127.0.0.1:${port}`
  running = []
})
afterEach(async () => {
  for (const { child, end } of running) if (child.exitCode === null && child.signalCode === null) await end('SIGKILL')
  await backend.close()
  rmSync(folder, { recursive: true, force: true })
})

function config(limit: number, length = '1h'): string {
  return `
listen: 127.0.0.1:${port}
upstream: { url: "${backend.url}" }
store: sqlite:${join(folder, 'quota.db')}
admin: { listen: "127.0.0.1:0" }
auth:
  jwt: [{ issuer: "https://id.test", audience: tollgate, secret: a-shared-secret-of-forty-characters-long, algorithms: [HS256] }]
quota:
  windows: { short: ${length} }
  baselines: { personal: { read: { short: ${limit} } }, global: { read: { short: 1000 } } }
routes: [{ match: "GET /*", category: read, cost: 1 }]
`
}

async function start(file = join(folder, 'tollgate.yaml')): Promise<GatewayProcess> {
  const gateway = await spawnGateway(file, `${url}/me/quota`)
  running.push(gateway)
  return gateway
}

const file = (text: string): string => {
  const path = join(folder, 'tollgate.yaml')
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
  return path
}
const get = (path = '/x') => fetch(url + path, { headers: bearer('alice') })
async function standing(): Promise<{ limit: number; used: number }> {
  const { windows } = (await (await get('/me/quota')).json()) as {
    windows: { read: { limit: number; used: number }[] }
  }
  return windows.read[0] ?? { limit: -1, used: -1 }
}

describe('a window', () => {
  it('that is used up refuses until its end, and goes on after it', async () => {
    file(config(2, '3s'))
    await start()
    expect([(await get()).status, (await get()).status]).toEqual([200, 200])
    const refused = await get()
    expect(refused.status).toBe(429)
    const body = (await refused.json()) as { retryAfterSeconds: number }
    expect(body.retryAfterSeconds).toBeLessThanOrEqual(3)
    await sleep(body.retryAfterSeconds * 1000)
    expect((await get()).status).toBe(200)
    expect((await standing()).used).toBe(1)
  })

  it('is remembered through a stop and through kill -9', async () => {
    file(config(5))
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const gateway = await start()
      await get()
      await gateway.end(signal)
    }
    await start()
    expect(await standing()).toMatchObject({ limit: 5, used: 2 })
    expect([(await get()).status, (await get()).status, (await get()).status, (await get()).status]).toEqual([
      200, 200, 200, 429,
    ])
  })
})

describe('a changed configuration', () => {
  it('is in force without a restart, and the counters stay', async () => {
    file(config(2))
    const gateway = await start()
    await get()
    await get()
    expect((await get()).status).toBe(429)
    file(config(3))
    await expect.poll(standing, { timeout: 10_000 }).toMatchObject({ limit: 3, used: 2 })
    expect((await get()).status).toBe(200)
    file(config(1))
    await expect.poll(standing, { timeout: 10_000 }).toMatchObject({ limit: 1, used: 3 })
    expect((await get()).status).toBe(429)
    expect(gateway.child.exitCode).toBeNull()
  })

  it('is read again on SIGHUP', async () => {
    const path = file(config(2))
    const gateway = await start()
    expect(readFileSync(path, 'utf8')).toContain('short: 2')
    file(config(7))
    gateway.child.kill('SIGHUP')
    await expect.poll(standing, { timeout: 10_000 }).toMatchObject({ limit: 7 })
  })

  it('with problems leaves the old one in force and says so', async () => {
    file(config(2))
    const gateway = await start()
    file(config(3).replace('category: read', 'categry: read'))
    await expect.poll(gateway.output, { timeout: 10_000 }).toContain('did you mean')
    expect(await standing()).toMatchObject({ limit: 2 })
    file(config(4))
    await expect.poll(standing, { timeout: 10_000 }).toMatchObject({ limit: 4 })
  })

  it('is noticed when a ConfigMap swaps its symlink', async () => {
    const version = (name: string, limit: number): void => {
      mkdirSync(join(folder, name))
      writeFileSync(join(folder, name, 'tollgate.yaml'), config(limit))
      symlinkSync(name, join(folder, '..data_tmp'))
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    }
    version('v1', 2)
    symlinkSync(join('..data', 'tollgate.yaml'), join(folder, 'tollgate.yaml'))
    await start()
    expect(await standing()).toMatchObject({ limit: 2 })
    version('v2', 9)
    await expect.poll(standing, { timeout: 10_000 }).toMatchObject({ limit: 9 })
  })
})

describe('SIGTERM', () => {
  it('lets requests under way finish and exits with 0', async () => {
    file(config(100))
    const gateway = await start()
    const slow = Array.from({ length: 10 }, () => get('/slow'))
    await expect.poll(() => backend.seen.length).toBe(10)
    expect(await gateway.end('SIGTERM')).toBe(0)
    for (const answer of await Promise.all(slow)) expect(await answer.text()).toBe('ok')
  })
})

it('a configuration with problems keeps the gateway from starting, with exit code 1 and every problem', async () => {
  const path = file(config(3).replace('category: read', 'categry: read').replace('cost: 1', 'cost: -1'))
  const error = await spawnGateway(path, url).then(
    () => '',
    (e: Error) => e.message,
  )
  expect(error).toContain('ended with 1')
  expect(error).toMatch(/tollgate\.yaml:\d+:\d+ routes\[0\].*categry/)
  expect(error).toMatch(/tollgate\.yaml:\d+:\d+ routes\[0\]\.cost/)
})
