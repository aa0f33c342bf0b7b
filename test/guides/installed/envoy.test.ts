import { readFileSync } from 'node:fs'
import { beforeAll, expect, it } from 'vitest'
import { ask } from '../ask.ts'
import { askDecided, type DecidedStack, startDecided } from '../deciding.ts'
import { envoy } from '../proxies.ts'

/** docs/guides/envoy.md */

let stack: DecidedStack
beforeAll(async () => {
  stack = await startDecided(envoy)
})

askDecided(() => stack, { whenDown: 403 })

it('Envoy lets requests pass uncounted while the gateway is down, by the line of the page for that', async () => {
  await stack.endGateway()
  const open = 'failure_mode_allow: true'
  expect(readFileSync('docs/guides/envoy.md', 'utf8')).toContain(`\`${open}\``)
  const proxy = await envoy.start(stack.file.replace(/^( *)http_service:/m, `$1${open}\n$&`))
  const lies = { 'x-tollgate-user': 'root' }
  const { status, text } = await ask({ ...stack.door, port: proxy.port }, { path: '/v1/items', headers: lies })
  await proxy.stop()
  expect([status, JSON.parse(text).user]).toEqual([200, null])
})
