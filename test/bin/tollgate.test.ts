import { execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeEach, expect, test } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'

const run = promisify(execFile)
const bin = fileURLToPath(new URL('../../src/bin', import.meta.url))
const { node } = process.versions

let folder: string
beforeEach(() => {
  folder = tempFolder()
})

/** Runs the command of a package that needs another version of Node, and says in its main.js with what it was called. */
async function tollgate(needed: string, ...args: string[]) {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', engines: { node: `>=${needed}` } }))
  cpSync(bin, join(folder, 'dist/bin'), { recursive: true })
  writeFileSync(join(folder, 'dist/main.js'), 'console.log(import.meta.url.slice(-7), ...process.argv.slice(2))')
  return run(process.execPath, [join(folder, 'dist/bin/tollgate.cjs'), ...args]).catch((error) => error)
}

test('the installed command runs the program with its arguments on a Node that is new enough', async () => {
  const [major = 0] = node.split('.').map(Number)
  for (const enough of [node, `${major}.0.0`, `${major - 1}.99.99`, '4.99.99']) {
    expect(await tollgate(enough, 'serve', '-c', 'x.yaml')).toMatchObject({
      stdout: 'main.js serve -c x.yaml\n',
      stderr: '',
    })
  }
})

test('the installed command says on one that is too old which is needed, loads nothing of it, and ends with 1', async () => {
  const [major = 0, minor = 0, patch = 0] = node.split('.').map(Number)
  for (const needed of [`${major + 1}.0.0`, `${major}.${minor + 1}.0`, `${major}.${minor}.${patch + 1}`]) {
    expect(await tollgate(needed, 'serve')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `tollgate: Node ${needed} or newer is needed, and this is ${node}: install a newer one (https://nodejs.org), then tollgate again\n`,
    })
  }
})

test('the installed command has no word that Node 4 cannot read', () => {
  const text = readFileSync(join(bin, 'tollgate.cjs'), 'utf8')
  const code = text.replace(/^(?:#!|\/\/).*$/gm, '')
  expect(text).toMatch(/^#!\/usr\/bin\/env node\n/)
  // Arrows, templates, optional members, spreads, commas behind the last argument, and declarations of ES2015 and later.
  expect(code).not.toMatch(/=>|`|\?\.|\?\?|\.\.\.|,\s*\)|\*\*|\b(?:const|let|class|async|await|import|export|of)\b/)
})
