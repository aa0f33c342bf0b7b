import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import platforms from '../../../config/score/external.json' with { type: 'json' }
import { tempFolder } from '../../../test/setup/at-end.ts'
import { freePort } from '../../../test/setup/redis.ts'

const ADDRESSES = ['TOLLGATE_LISTEN', 'TOLLGATE_ADMIN_LISTEN', 'SCORE_LISTEN', 'SYNC_LISTEN', 'CHART_LISTEN']

let folder: string
let env: NodeJS.ProcessEnv
let demo: ChildProcess
beforeAll(async () => {
  // The shell must take the path for one word.
  folder = join(tempFolder(), "alice's demo")
  mkdirSync(folder)
  const ports = await Promise.all(ADDRESSES.map(() => freePort()))
  const addresses = Object.fromEntries(ADDRESSES.map((name, i) => [name, `127.0.0.1:${ports[i]}`]))
  // Nobody listens there: the platforms are away.
  const external = { ...platforms, fish: { ...platforms.fish, base_url: `http://127.0.0.1:${await freePort()}` } }
  const file = join(folder, 'env')
  writeFileSync(join(folder, 'external.json'), JSON.stringify(external))
  env = { ...process.env, ...addresses, TOLLGATE_HOME: folder, SCORE_EXTERNAL: join(folder, 'external.json') }
  demo = spawn(process.execPath, ['services/demo/main.ts'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  await vi.waitUntil(() => existsSync(file) && readFileSync(file, 'utf8').endsWith("'\n"), { timeout: 60_000 })
}, 90_000)
afterAll(async () => {
  const ended = once(demo, 'exit')
  demo.kill('SIGTERM')
  await ended
})

it('commands of a second terminal find the demo that runs, whatever its addresses', () => {
  expect(inSecondTerminal(`exec '${process.execPath}' src/main.ts healthcheck`)).toBe(
    `alive: http://${env.TOLLGATE_ADMIN_LISTEN}/livez\n`,
  )
})

it('a second terminal has each value as the demo has it, also with a quotation mark', () => {
  expect(inSecondTerminal('echo "$TOLLGATE_STORE"')).toBe(`sqlite:${folder}/tollgate.db\n`)
})

function inSecondTerminal(command: string): string {
  const args = ['-c', `. "$0" && ${command}`, join(folder, 'env')]
  return execFileSync('sh', args, { env: { PATH: process.env.PATH }, encoding: 'utf8' })
}

const read = (name: string) =>
  new RegExp(`^export ${name}='(.*)'$`, 'm').exec(readFileSync(join(folder, 'env'), 'utf8'))?.[1]

async function ask(path: string, credential: string | undefined, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' }
  return fetch(`${read('TOLLGATE_URL')}${path}`, {
    headers,
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
}

/** Tokens of the hour that the owner of a credential has used to read. */
async function readTokens(credential: string | undefined): Promise<number> {
  const { windows } = (await (await ask('/me/quota', credential)).json()) as { windows: { read: [{ used: number }] } }
  return windows.read[0].used
}

it('the JWT of the second terminal draws on the quota of a user of its own', async () => {
  const [jwt, token] = [read('TOLLGATE_JWT'), read('TOLLGATE_TOKEN')]
  expect((await ask('/v1/user/preview', jwt, {})).status).toBe(200)
  expect([await readTokens(jwt), await readTokens(token)]).toEqual([1, 0])
})

/** Charged of the price by the result: the whole, 1 for what is wrong with the request, nothing for what the service failed at. */
it.each([
  ['/v1/music/upsert', { musicId: 11466, level: 3, achievement: 100.5, dxScore: 9999 }, 422, '1'],
  ['/v1/music/delete', { musicId: 11466, level: 0 }, 404, '1'],
  ['/v1/music/delete', { nonsense: 1 }, 400, '1'],
  ['/v1/music/clear', {}, 400, '1'],
  ['/v1/ticket/clear', { x: 1 }, 400, '1'],
  ['/v1/ticket/clear', {}, 200, '5'],
])('a write costs what its result is worth: %s %j', async (path, body, status, charged) => {
  const response = await ask(path, read('TOLLGATE_TOKEN'), body)
  expect([response.status, response.headers.get('x-tollgate-charged')], await response.text()).toEqual([
    status,
    charged,
  ])
})

it('a platform that is away costs nothing', async () => {
  const response = await ask('/v1/update-fish', read('TOLLGATE_TOKEN'), { token: 'x'.repeat(32), mode: 'pull' })
  expect(response.status, await response.text()).toBe(502)
  expect(response.headers.get('x-tollgate-charged')).toBe('0')
})

it('a second demo at the same addresses says what it needs', () => {
  const { status, stderr } = spawnSync(process.execPath, ['services/demo/main.ts'], { env, encoding: 'utf8' })
  expect(stderr).toMatch(/EADDRINUSE.*TOLLGATE_LISTEN.*TOLLGATE_HOME/)
  expect(status).toBe(1)
})
