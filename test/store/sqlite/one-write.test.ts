import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { expectOfOnePiece, STEPS } from '../../control/rounds.ts'
import { newFile } from './new-file.ts'

const ADMINISTERING = fileURLToPath(new URL('./administering.ts', import.meta.url))
const KILLS = 15

it('a process that is killed in the middle of changes leaves each with its entry in the audit, or neither', async () => {
  const file = newFile()
  try {
    let version = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const child = spawn(process.execPath, [ADMINISTERING, file], { stdio: ['ignore', 'pipe', 'inherit'] })
      let printed = ''
      child.stdout.on('data', (chunk: Buffer) => {
        printed += chunk.toString()
      })
      const ended = once(child, 'close')
      await once(child.stdout, 'data')
      await sleep(Math.random() * 40)
      child.kill('SIGKILL')
      await ended
      const store = openSqliteStore({ file })
      ;({ version } = await store.controlVersion())
      await expectOfOnePiece(store, printed.split('\n').includes(String(version)) ? 'yes' : 'perhaps')
      await store.close()
    }
    expect(version).toBeGreaterThan(STEPS.length)
  } finally {
  }
}, 120_000)
