import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { SECRET } from '../../e2e/harness.ts'
import { guideTool } from '../../setup/guides-tools.ts'
import { ask } from '../ask.ts'
import { credentialOf } from '../credential.ts'
import { blockOf, type RunningGuide, startGuide } from '../page.ts'
import { startProgram } from '../program.ts'
import { askEverything } from '../questions.ts'
import type { Service } from '../service.ts'

/** docs/guides/django.md, with Django under gunicorn. */

function startDjango(): Promise<Service> {
  return startProgram(({ port, folder, write }) => {
    write('gateway.py', blockOf('django', 'python'))
    const site = join(import.meta.dirname, 'django-site')
    const env = { SHOP_FOLDER: folder, PYTHONPATH: `${folder}:${site}`, PYTHONDONTWRITEBYTECODE: '1' }
    const args = ['--bind', `127.0.0.1:${port}`, '--workers', '1', '--log-level', 'critical', 'shop:application']
    return { command: guideTool('gunicorn'), args, env }
  })
}

let service: Service
let guide: RunningGuide
const as = (user: string, numbered: unknown = user) => ({
  headers: { authorization: credentialOf(user, { user_id: numbered }) },
})

beforeAll(async () => {
  service = await startDjango()
  guide = await startGuide('django', { upstream: service.port, env: { JWT_SIGNING_KEY: SECRET } })
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
