import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { blocksIn } from '../../docs/blocks.ts'
import { SECRET } from '../../e2e/harness.ts'
import { jwtOf } from '../../e2e/jwt.ts'
import { guideTool } from '../../setup/guides-tools.ts'
import { accepts, freePort } from '../../setup/redis.ts'
import { ask } from '../ask.ts'
import { type RunningGuide, startGuide } from '../page.ts'
import { askEverything } from '../questions.ts'

/** docs/guides/django.md, with Django under gunicorn. */

interface Service {
  readonly port: number
  stop(): Promise<void>
}

async function startDjango(): Promise<Service> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-django-'))
  writeFileSync(join(folder, 'gateway.py'), blockOfPage())
  const env = {
    ...process.env,
    SHOP_FOLDER: folder,
    PYTHONPATH: `${folder}:test/guides/installed/django-site`,
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const args = ['--bind', `127.0.0.1:${port}`, '--workers', '1', '--log-level', 'critical', 'shop:application']
  const child = spawn(guideTool('gunicorn'), args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const exited = once(child, 'exit')
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (child.exitCode !== null || tries > 2000) throw new Error(`gunicorn did not start: ${child.exitCode}`)
    await sleep(25)
  }
  return {
    port,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true })
    },
  }
}

function blockOfPage(): string {
  const page = readFileSync('docs/guides/django.md', 'utf8')
  return blocksIn(page).find(({ language }) => language === 'python')?.text ?? ''
}

let service: Service
let guide: RunningGuide
const as = (user: string, numbered: unknown = user) => {
  const token = jwtOf(user, { iss: 'https://id.example.org', aud: 'shop', user_id: numbered })
  return { headers: { authorization: `Bearer ${token}` } }
}

beforeAll(async () => {
  service = await startDjango()
  guide = await startGuide('django', { upstream: service.port, env: { JWT_SIGNING_KEY: SECRET } })
})
afterAll(async () => {
  await guide.stop()
  await service.stop()
})

askEverything(() => ({
  door: guide.door,
  as: (user) => as(user),
  known: (user) => user,
  dear: '/v1/charge/',
  spellings: ['/v1/charge/'],
}))

it.each([
  [42, '42'],
  ['jürgen 100%', 'jürgen 100%'],
])('knows the user %s', async (id, name) => {
  const { text } = await ask(guide.door, { path: '/v1/items', ...as('x', id) })
  expect(JSON.parse(text)).toMatchObject({ user: name, secure: true })
})

it('believes no client that names a user by itself', async () => {
  const { headers } = as('hans')
  const { text } = await ask(guide.door, { path: '/v1/items', headers: { ...headers, 'x-remote-user': 'root' } })
  expect(JSON.parse(text)).toMatchObject({ user: 'hans' })
})

it('redirects to the final slash at the gateway', async () => {
  const { headers } = await ask(guide.door, { path: '/v1/slashed', ...as('ida') })
  expect(headers.location).toBe('/v1/slashed/')
})
