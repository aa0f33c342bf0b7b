import { afterAll, beforeAll } from 'vitest'
import { guideTool } from '../../setup/guides-tools.ts'
import { askDecided, type DecidedStack, startDecided } from '../deciding.ts'
import { blockOf } from '../page.ts'
import { startProgram } from '../program.ts'

/** docs/guides/caddy.md */

let stack: DecidedStack
beforeAll(async () => {
  stack = await startDecided('caddy', blockOf('caddy', 'caddy'), (text) =>
    startProgram(({ port, folder, write }) => {
      write('Caddyfile', text.replace(':8000 {', `:${port} {`))
      const args = ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile']
      return { command: guideTool('caddy'), args, env: { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder } }
    }),
  )
})
afterAll(() => stack.stop())

askDecided(() => stack, { whenDown: 502 })
