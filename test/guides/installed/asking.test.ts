import { readFileSync } from 'node:fs'
import { beforeAll } from 'vitest'
import { blocksIn } from '../../docs/blocks.ts'
import { guideTool } from '../../setup/guides-tools.ts'
import { type AskingStack, askAsking, startAsking } from '../asking.ts'
import { startProgram } from '../program.ts'

/** docs/guides/asking.md, with FastAPI. */

let stack: AskingStack
beforeAll(async () => {
  const files = blocksIn(readFileSync('docs/guides/asking.md', 'utf8')).filter(({ language }) => language === 'python')
  stack = await startAsking((env) =>
    startProgram(({ port, write }) => {
      for (const { file, text } of files) write(file as string, text)
      return { command: guideTool('uvicorn'), args: ['shop:app', '--port', String(port), '--log-level', 'error'], env }
    }),
  )
})

askAsking(() => stack)
