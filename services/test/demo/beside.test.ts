import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { freePort } from '../../../test/setup/redis.ts'

const ADDRESSES = ['TOLLGATE_LISTEN', 'TOLLGATE_ADMIN_LISTEN', 'SCORE_LISTEN', 'SYNC_LISTEN', 'CHART_LISTEN']

let folder: string
let env: NodeJS.ProcessEnv
let demo: ChildProcess
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-beside-'))
  const ports = await Promise.all(ADDRESSES.map(() => freePort()))
  const addresses = Object.fromEntries(ADDRESSES.map((name, i) => [name, `127.0.0.1:${ports[i]}`]))
  env = { ...process.env, ...addresses, TOLLGATE_HOME: folder }
  demo = spawn(process.execPath, ['services/demo/main.ts'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const file = join(folder, 'env')
  await vi.waitUntil(() => existsSync(file) && readFileSync(file, 'utf8').endsWith("'\n"), { timeout: 60_000 })
}, 90_000)
afterAll(async () => {
  const ended = once(demo, 'exit')
  demo.kill('SIGTERM')
  await ended
  rmSync(folder, { recursive: true, force: true })
})

it('commands of a second terminal find the demo that runs, whatever its addresses', () => {
  const commands = `. '${folder}/env' && exec '${process.execPath}' src/main.ts healthcheck`
  const said = execFileSync('sh', ['-c', commands], { env: { PATH: process.env.PATH }, encoding: 'utf8' })
  expect(said).toBe(`alive: http://${env.TOLLGATE_ADMIN_LISTEN}/livez\n`)
})

it('a second demo at the same addresses says what it needs', () => {
  const { status, stderr } = spawnSync(process.execPath, ['services/demo/main.ts'], { env, encoding: 'utf8' })
  expect(stderr).toMatch(/EADDRINUSE.*TOLLGATE_LISTEN.*TOLLGATE_HOME/)
  expect(status).toBe(1)
})
