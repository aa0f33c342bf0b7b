import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const CATALOGUE = 'config/score/catalogue.json'

/** @param stdout where it writes, or `gone`: to a reader who leaves before there is anything to read */
async function run(command: string, stdout: number | 'gone') {
  const child = spawn(process.execPath, command.split(' '), {
    cwd: root,
    stdio: ['ignore', stdout === 'gone' ? 'pipe' : stdout, 'pipe'],
    env: { ...process.env, TOLLGATE_CONFIG: 'config/tollgate.yaml' },
  })
  child.stdout?.destroy()
  const [said, [code]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'close')])
  return { said, code }
}

describe('a command whose reader has left', () => {
  it.each([
    ['services/chart/main.ts --help'],
    ['services/chart/main.ts check'],
    [`services/chart/main.ts catalogue ${CATALOGUE}`],
    ['services/score/main.ts --help'],
    ['services/score/main.ts openapi'],
    ['services/sync/main.ts --help'],
    ['src/main.ts --help'],
    ['src/main.ts --version'],
    ['src/main.ts schema'],
  ])('%s ends as if it had been read', async (command) => {
    expect(await run(command, 'gone')).toEqual({ said: '', code: 0 })
  })
})

describe('a command that asks for data', () => {
  it.each([
    ['services/chart/main.ts check'],
    [`services/chart/main.ts catalogue ${CATALOGUE}`],
    ['services/score/main.ts openapi'],
    ['src/main.ts schema'],
    ['src/main.ts --help'],
    ['src/main.ts token --help'],
  ])('%s fails if its output cannot be kept', async (command) => {
    const full = openSync('/dev/full', 'w')
    const { said, code } = await run(command, full)
    closeSync(full)
    expect([said, code]).toEqual([
      expect.stringMatching(/^(?:tollgate: )?(?:the standard output cannot be written: )?ENOSPC[^\n]*\n$/),
      1,
    ])
  })
})
