import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, vi } from 'vitest'
import { tempFolder } from '../../../test/setup/at-end.ts'
import { freePort } from '../../../test/setup/redis.ts'

const ADDRESSES = ['TOLLGATE_LISTEN', 'TOLLGATE_ADMIN_LISTEN', 'SCORE_LISTEN', 'SYNC_LISTEN', 'CHART_LISTEN']

it('a stop of npm ends the demo that it started, and leaves no process behind', async () => {
  const folder = tempFolder()
  const ports = await Promise.all(ADDRESSES.map(() => freePort()))
  const addresses = Object.fromEntries(ADDRESSES.map((name, i) => [name, `127.0.0.1:${ports[i]}`]))
  // Without scripts: it runs start, and not prestart, which builds the dashboard.
  const npm = spawn('npm', ['start', '--ignore-scripts'], {
    env: { ...process.env, ...addresses, TOLLGATE_HOME: folder },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const group = -(npm.pid ?? 0)
  try {
    let printed = ''
    npm.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
    })
    await vi.waitUntil(() => printed.includes('configuration loaded'), { timeout: 40_000 })
    const ended = once(npm, 'exit')
    npm.kill('SIGTERM')
    await ended
    await vi.waitUntil(() => printed.includes('"msg":"stopped"'), { timeout: 30_000 })
    await vi.waitUntil(() => !isRunning(group), { timeout: 30_000 })
    expect(isRunning(group)).toBe(false)
  } finally {
    if (isRunning(group)) process.kill(group, 'SIGKILL')
  }
})

/** @param pid of a process, or of a group as a negative number */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
