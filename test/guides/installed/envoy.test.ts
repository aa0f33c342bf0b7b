import { afterAll, beforeAll } from 'vitest'
import { guideTool } from '../../setup/guides-tools.ts'
import { askDecided, type DecidedStack, startDecided } from '../deciding.ts'
import { blockOf } from '../page.ts'
import { startProgram } from '../program.ts'

/** docs/guides/envoy.md */

let stack: DecidedStack
beforeAll(async () => {
  stack = await startDecided('envoy', blockOf('envoy', 'yml'), (text) =>
    startProgram(({ port, write }) => {
      write('envoy.yaml', text.replace('port_value: 8000 ', `port_value: ${port} `))
      const args = ['-c', 'envoy.yaml', '--concurrency', '1', '--use-dynamic-base-id', '-l', 'critical']
      return { command: guideTool('envoy'), args }
    }),
  )
})
afterAll(() => stack.stop())

askDecided(() => stack, { whenDown: 403 })
