import { readFileSync } from 'node:fs'
import { beforeAll, expect, it } from 'vitest'
import { ask } from './ask.ts'
import { askDecided, type DecidedStack, startDecided } from './deciding.ts'
import { haproxy } from './proxies.ts'

/** docs/guides/haproxy.md, with HAProxy as Debian has it. */

let stack: DecidedStack
beforeAll(async () => {
  stack = await startDecided(haproxy)
})

askDecided(() => stack, { whenDown: 503 })

it('HAProxy lets requests pass uncounted while the gateway is down, by the line of the page for that', async () => {
  await stack.endGateway()
  const open = '  if isDown then return end'
  expect(readFileSync('docs/guides/haproxy.md', 'utf8')).toContain(`\`${open.trim()}\``)
  const proxy = await haproxy.start(stack.file.replace(/^ *if isDown .*$/m, open))
  const lies = { 'x-tollgate-user': 'root' }
  const { status, text } = await ask({ ...stack.door, port: proxy.port }, { path: '/v1/items', headers: lies })
  await proxy.stop()
  expect([status, JSON.parse(text).user]).toEqual([200, null])
})
