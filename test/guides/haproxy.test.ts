import { readFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ask } from './ask.ts'
import { askDecided, type DecidedStack, startDecided } from './deciding.ts'
import { blockOf } from './page.ts'
import { startProgram } from './program.ts'
import type { Service } from './service.ts'

/** docs/guides/haproxy.md, with HAProxy as Debian has it. */

let stack: DecidedStack
beforeAll(async () => {
  const both = [blockOf('haproxy', 'lua'), blockOf('haproxy', 'haproxy')].join(BREAK)
  stack = await startDecided('haproxy', both, start)
})
afterAll(() => stack.stop())

/** Between the two files of the page. */
const BREAK = '\f'

function start(both: string): Promise<Service> {
  return startProgram(({ port, write }) => {
    const [lua = '', haproxy = ''] = both.split(BREAK)
    write('tollgate.lua', lua)
    write('haproxy.cfg', haproxy.replace('127.0.0.1:8000', `127.0.0.1:${port}`))
    const env = { PATH: `${process.env.PATH}${delimiter}/usr/sbin` }
    return { command: 'haproxy', args: ['-db', '-f', 'haproxy.cfg'], env }
  })
}

askDecided(() => stack, { whenDown: 503 })

it('HAProxy lets requests pass uncounted while the gateway is down, by the line of the page for that', async () => {
  await stack.endGateway()
  const open = '  if isDown then return end'
  expect(readFileSync('docs/guides/haproxy.md', 'utf8')).toContain(`\`${open.trim()}\``)
  const haproxy = await start(stack.file.replace(/^ *if isDown .*$/m, open))
  const lies = { 'x-tollgate-user': 'root' }
  const { status, text } = await ask({ ...stack.door, port: haproxy.port }, { path: '/v1/items', headers: lies })
  await haproxy.stop()
  expect([status, JSON.parse(text).user]).toEqual([200, null])
})
