import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { SECRET, yaml } from '../e2e/harness.ts'
import { tempFolder } from '../setup/at-end.ts'
import { freePort } from '../setup/redis.ts'

let folder: string
let end: () => void
beforeEach(() => {
  folder = tempFolder()
  end = () => {}
})
afterEach(() => {
  end()
})

const SOON = { timeout: 20_000, interval: 50 }

function configuration(workers: number): string {
  const file = join(folder, 'tollgate.yaml')
  const log = 'log: { requests: none }'
  const text = yaml('http://127.0.0.1:1', `workers: ${workers}`, `sqlite:${join(folder, 'quota.db')}`)
  writeFileSync(file, text.replace(/^log: .*$/m, log))
  return file
}

/** Each entry of the project: its arguments, its processes, and what each of them prints when it is up. */
const ENTRIES: [string, () => { args: string[]; processes?: number; up: string }][] = [
  ['the gateway', () => ({ args: ['src/main.ts', 'serve', '-c', configuration(1)], up: '"configuration loaded"' })],
  [
    'a gateway of several workers',
    () => ({ args: ['src/main.ts', 'serve', '-c', configuration(2)], processes: 3, up: '"configuration loaded"' }),
  ],
  ...['score', 'sync', 'chart'].map((name): (typeof ENTRIES)[number] => [
    `the ${name} service`,
    () => {
      const main = `services/${name}/main.ts`
      return { args: [main, 'serve', '--listen', '127.0.0.1:0', '--database', join(folder, `${name}.db`)], up: 'http:' }
    },
  ]),
]
const SECRETS = { SCORE_BACKEND_SECRET: SECRET, SYNC_BOT_TOKENS: SECRET, CHART_ADMIN_SECRET: SECRET }

it.each(ENTRIES)('SIGUSR1 opens no inspector in %s, and is one line of its log', async (_name, entryOf) => {
  const { args, processes = 1, up } = entryOf()
  const port = await freePort()
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...SECRETS, NODE_OPTIONS: `--inspect-port=${port}` },
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (err += chunk))
  end = () => child.kill('SIGKILL')
  await expect.poll(() => (out + err).split(up), SOON).toHaveLength(processes + 1)
  const all = [child.pid as number, ...childrenOf(child.pid as number)]
  expect(all).toHaveLength(processes)
  for (const pid of all) process.kill(pid, 'SIGUSR1')
  await expect.poll(() => err.split('\n').filter((line) => line.includes('SIGUSR1')), SOON).toHaveLength(processes)
  const lines = err.split('\n').filter((line) => line.includes('SIGUSR1'))
  expect(lines.map((line) => JSON.parse(line).pid).sort()).toEqual(all.sort())
  expect(await connects(port)).toBe(false)
})

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}
