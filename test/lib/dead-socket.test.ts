import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { removeDeadSocket } from '../../src/lib/dead-socket.ts'
import { tempFolder } from '../setup/at-end.ts'

// It starts a process.
vi.setConfig({ testTimeout: 60_000 })

let folder: string
beforeEach(() => {
  folder = tempFolder()
})

test('a socket that a killed process left is removed', async () => {
  const path = join(folder, 'dead.sock')
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', script])
  expect(existsSync(path)).toBe(true)
  await removeDeadSocket(path)
  expect(existsSync(path)).toBe(false)
})

test('a socket that somebody listens on stays, and so does a file, and nothing is no fault', async () => {
  const [path, file] = [join(folder, 'live.sock'), join(folder, 'file')]
  const server = createServer().listen(path)
  await once(server, 'listening')
  writeFileSync(file, 'text')
  for (const each of [path, file, join(folder, 'nothing')]) await removeDeadSocket(each)
  expect([existsSync(path), existsSync(file)]).toEqual([true, true])
  server.close()
})
