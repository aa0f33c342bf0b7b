import { readFileSync } from 'node:fs'
import { beforeAll, expect, it } from 'vitest'
import { ask } from './ask.ts'
import { askDecided, type DecidedStack, startDecided } from './deciding.ts'
import { nginx } from './proxies.ts'

/** docs/guides/nginx.md, with nginx as Debian has it. */

let stack: DecidedStack
beforeAll(async () => {
  stack = await startDecided(nginx)
})

it('says of what is rare that the request is wrong, and not that it may come again', async () => {
  const status = async (method: string, headers: Record<string, string>) =>
    (await ask(stack.door, { method, path: '/v1/items', headers })).status
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`X-${i}`, 'a']))
  expect(await status('GET', many)).toBe(400)
  expect(await status('STEAL', {})).toBe(405)
})

askDecided(() => stack, { whenDown: 500 })

it('lets requests pass uncounted while the gateway is down, by the lines of the page for that', async () => {
  await stack.endGateway()
  const open = '  error_page 502 504 = @open;\n'
  const file = `${stack.file.replace('location = /tollgate {\n', (line) => line + open)}\nlocation @open { return 204; }`
  expect(readFileSync('docs/guides/nginx.md', 'utf8')).toContain('`location @open { return 204; }`')
  const proxy = await nginx.start(file)
  const { status, text } = await ask({ ...stack.door, port: proxy.port }, { path: '/v1/items' })
  await proxy.stop()
  expect([status, JSON.parse(text).user]).toEqual([200, null])
})
