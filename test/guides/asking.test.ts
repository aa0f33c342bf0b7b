import { readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll } from 'vitest'
import { blocksIn } from '../docs/blocks.ts'
import { type AskingStack, askAsking, startAsking } from './asking.ts'
import { startProgram } from './program.ts'

/** docs/guides/asking.md, with Express. */

let stack: AskingStack
beforeAll(async () => {
  const files = blocksIn(readFileSync('docs/guides/asking.md', 'utf8')).filter(({ language }) => language === 'js')
  stack = await startAsking((env) =>
    startProgram(({ port, folder, write }) => {
      write('package.json', '{ "type": "module" }')
      for (const { file, text } of files) write(file as string, text)
      symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
      return { command: process.execPath, args: ['shop.js'], env: { ...env, PORT: String(port) } }
    }),
  )
})

askAsking(() => stack)
