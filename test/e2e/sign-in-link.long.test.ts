import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { freePort } from '../setup/redis.ts'
import { spawnGateway } from './process.ts'

const SOON = { timeout: 60_000, interval: 50 }
const TOKEN = 'test-admin-token-of-32-characters'
const LINK = /http:\/\/127\.0\.0\.1:\d+\/#\/sign-in\?code=[\w-]+/g

let folder: string
let ends: (() => Promise<void>)[]
beforeEach(() => {
  folder = tempFolder()
  ends = []
})
afterEach(async () => {
  for (const end of ends) await end()
})

interface AtTerminal {
  /** All that it has shown. */
  output(): string
  /** Lets it stop, as by a SIGTERM, and waits for that. */
  end(): Promise<void>
}

/** Runs a script of Node at a terminal of its own, which `script` makes. */
function runAtTerminal(args: string, env: Readonly<Record<string, string>> = {}): AtTerminal {
  const pid = join(folder, 'pid')
  const command = `echo $$ > '${pid}' && exec '${process.execPath}' ${args}`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
  })
  const closed = once(child, 'close')
  const end = async (): Promise<void> => {
    if (child.exitCode === null) process.kill(Number(readFileSync(pid, 'utf8')), 'SIGTERM')
    await closed
  }
  ends.push(end)
  return { output: () => shown, end }
}

function linksIn(text: string): string[] {
  return [...text.matchAll(LINK)].map(([link]) => link)
}

async function signIn(link: string): Promise<number> {
  const { origin, hash } = new URL(link)
  const body = JSON.stringify({ code: new URLSearchParams(hash.slice(hash.indexOf('?'))).get('code') })
  const headers = { 'content-type': 'application/json' }
  return (await fetch(`${origin}/api/session`, { method: 'POST', headers, body })).status
}

async function configOf(workers: number): Promise<{ readonly file: string; readonly admin: string }> {
  const admin = `127.0.0.1:${await freePort()}`
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(
    file,
    `listen: 127.0.0.1:${await freePort()}
upstream: { url: "http://127.0.0.1:1" }
store: sqlite:${join(folder, 'tollgate.db')}
admin: { listen: "${admin}", token: ${TOKEN} }
workers: ${workers}
`,
  )
  return { file, admin: `http://${admin}` }
}

test('npm start shows a sign-in link at a terminal, which is good once', async () => {
  const names = ['TOLLGATE_LISTEN', 'TOLLGATE_ADMIN_LISTEN', 'SCORE_LISTEN', 'SYNC_LISTEN', 'CHART_LISTEN']
  const ports = await Promise.all(names.map(() => freePort()))
  const addresses = Object.fromEntries(names.map((name, i) => [name, `127.0.0.1:${ports[i]}`]))
  const demo = runAtTerminal('services/demo/main.ts', { ...addresses, TOLLGATE_HOME: join(folder, 'home') })
  await vi.waitUntil(() => demo.output().includes('Ctrl-C ends it'), SOON)
  const [link = '', ...others] = linksIn(demo.output())
  expect(new URL(link).host).toBe(addresses.TOLLGATE_ADMIN_LISTEN)
  expect(others).toEqual([])
  expect([await signIn(link), await signIn(link)]).toEqual([200, 401])
})

test('the process of the administrators shows one link of a gateway of two workers at a terminal', async () => {
  const { file, admin } = await configOf(2)
  const gateway = runAtTerminal(`src/main.ts serve -c '${file}'`)
  await vi.waitUntil(() => /good once, for 10 minutes/.test(gateway.output()), SOON)
  const [link = ''] = linksIn(gateway.output())
  expect(link.startsWith(`${admin}/#/sign-in?code=`)).toBe(true)
  expect(await signIn(link)).toBe(200)
  await gateway.end()
  expect(linksIn(gateway.output())).toEqual([link])
})

test('a gateway whose output is kept shows no link', async () => {
  const { file, admin } = await configOf(1)
  const gateway = await spawnGateway(file, `${admin}/readyz`)
  await vi.waitUntil(() => gateway.output().includes('configuration loaded'), SOON)
  expect(await gateway.end('SIGTERM')).toBe(0)
  expect(gateway.output()).not.toMatch(/sign-in|code=/)
})
