import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { freePort } from '../setup/redis.ts'
import { type Shell, startShell } from '../setup/shell.ts'
import { commandsIn, withoutTheAccidental } from '../setup/tour.ts'

/** The five-minute tour, run as written there, in a folder that is as new as a fresh clone. */
const commands = commandsIn(readFileSync('docs/tour.md', 'utf8'))
const CLONE = ['src', 'services', 'config', 'build', 'node_modules', 'package.json']

let folder: string
let demo: ChildProcess
let printed = ''
let shell: Shell | undefined
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  folder = tempFolder()
  for (const name of CLONE) symlinkSync(resolve(name), join(folder, name))
  const names = ['TOLLGATE_LISTEN', 'TOLLGATE_ADMIN_LISTEN', 'SCORE_LISTEN', 'SYNC_LISTEN', 'CHART_LISTEN']
  const ports = await Promise.all(names.map(() => freePort()))
  env = { ...process.env, ...Object.fromEntries(names.map((name, i) => [name, `127.0.0.1:${ports[i]}`])) }
  await startDemo()
  shell = closedAtEnd(startShell(folder, env))
}, 120_000)
afterAll(async () => {
  await stopDemo()
})

async function startDemo(): Promise<void> {
  printed = ''
  demo = spawn('npm', ['start'], { cwd: folder, env, detached: true })
  demo.stdout?.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
  })
  demo.stderr?.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
  })
  await vi.waitUntil(() => printed.includes('Try it in a second terminal'), { timeout: 100_000 })
}

/** Ctrl-C reaches npm and the demo alike: they are one process group. */
async function stopDemo(): Promise<void> {
  if (demo.exitCode !== null || demo.signalCode !== null) return
  const ended = once(demo, 'exit')
  process.kill(-(demo.pid ?? 0), 'SIGINT')
  await ended
}

const run = async (command: string): Promise<string> => (await shell?.run(command)) ?? ''

describe('the five-minute tour', () => {
  it('the five-minute tour has commands to follow', () => {
    expect(commands.length).toBeGreaterThan(12)
  })

  it.each(commands.map((c) => [c.command.slice(0, 70), c] as const))('%s', async (_title, { command, output }) => {
    expect(withoutTheAccidental(await run(command))).toBe(withoutTheAccidental(output))
  })

  it('the five-minute tour goes on after a restart where it stopped', async () => {
    const before = await run('curl -sS "$TOLLGATE_URL/me/quota" -H "Authorization: Bearer $TOLLGATE_TOKEN"')
    await stopDemo()
    await startDemo()
    expect(printed).toContain(readFileSync(join(folder, '.tollgate/token'), 'utf8').trim())
    const after = await run('curl -sS "$TOLLGATE_URL/me/quota" -H "Authorization: Bearer $TOLLGATE_TOKEN"')
    expect(after).toBe(before)
    expect(after).toContain('"used":51')
  })

  it('the five-minute tour names the dashboard and where its admin token is, not the token, and has its credential in the audit', async () => {
    const token = readFileSync(join(folder, '.tollgate/admin-token'), 'utf8').trim()
    expect(printed).toMatch(/dashboard +http:\/\/127\.0\.0\.1:\d+ .*\.tollgate\/admin-token/)
    expect(printed).not.toContain(token)
    const url = `http://${env.TOLLGATE_ADMIN_LISTEN}/api/audit`
    const { entries } = (await (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).json()) as {
      entries: { what: string; who: string; to: unknown }[]
    }
    const made = entries.filter(({ what, to }) => what === 'token_created' && (to as { name: string }).name === 'demo')
    expect(made).toMatchObject([{ who: 'command line', to: { user: 'alice' } }])
  })

  it('the five-minute tour prints a curl line that can be pasted', async () => {
    const line = printed.split('\n').find((text) => text.trim().startsWith('curl -i '))
    expect(await run(line?.trim() ?? '')).toContain('HTTP/1.1 200 OK')
  })
})
