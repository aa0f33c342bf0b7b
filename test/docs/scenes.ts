import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { vi } from 'vitest'
import { startApp, startUpstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { freePort } from '../setup/redis.ts'
import type { Scene } from './follow.ts'

/** What of a checkout the demo and the documents need. */
const CLONE = ['src', 'services', 'config', 'build', 'docs', 'node_modules', 'package.json']

/** An empty folder on a machine where the command `tollgate` is installed. */
export async function emptyFolder(): Promise<Scene> {
  const machine = mkdtempSync(join(tmpdir(), 'tollgate-docs-'))
  const folder = join(machine, 'folder')
  mkdirSync(folder)
  return {
    folder,
    env: { ...process.env, PATH: withCommand(machine) },
    instead: await otherPorts(['8080', '9090', '9000']),
    close: async () => rmSync(machine, { recursive: true, force: true }),
  }
}

/** The PATH with the command before everything else. That the package brings it is shown by test/deploy/package.test.ts. */
function withCommand(machine: string): string {
  const bin = join(machine, 'bin')
  mkdirSync(bin)
  symlinkSync(process.execPath, join(bin, 'node'))
  writeFileSync(join(bin, 'tollgate'), `#!/bin/sh\nexec '${process.execPath}' '${resolve('src/main.ts')}' "$@"\n`)
  chmodSync(join(bin, 'tollgate'), 0o755)
  return `${bin}${delimiter}${process.env.PATH}`
}

/** `:8080` and the like, each by a port that nobody listens on. */
async function otherPorts(written: readonly string[]): Promise<Record<string, string>> {
  const ports = await Promise.all(written.map(() => freePort()))
  return Object.fromEntries(
    written.flatMap((port, i) => [
      [`:${port}`, `:${ports[i]}`],
      [`(${port},`, `(${ports[i]},`],
    ]),
  )
}

/** A checkout in which `npm start` has just been run for the first time. */
export async function demo(): Promise<Scene> {
  const machine = mkdtempSync(join(tmpdir(), 'tollgate-docs-'))
  const folder = join(machine, 'checkout')
  mkdirSync(folder)
  for (const name of CLONE) symlinkSync(resolve(name), join(folder, name))
  const names = ['TOLLGATE_LISTEN', 'TOLLGATE_ADMIN_LISTEN', 'SCORE_LISTEN', 'SYNC_LISTEN', 'CHART_LISTEN']
  const ports = await Promise.all(names.map(() => freePort()))
  const listen = Object.fromEntries(names.map((name, i) => [name, `127.0.0.1:${ports[i]}`]))
  const env = { ...process.env, ...listen, PATH: withCommand(machine) }
  // `npm start` itself is run by test/e2e/tour.test.ts.
  const child = spawn(process.execPath, ['services/demo/main.ts'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
  })
  const end = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
    rmSync(machine, { recursive: true, force: true })
  }
  await vi
    .waitUntil(() => printed.includes('Try it in a second terminal'), { timeout: 100_000 })
    .catch(async (error: unknown) => {
      await end()
      throw error
    })
  return {
    folder,
    env,
    instead: { '127.0.0.1:8080': listen.TOLLGATE_LISTEN ?? '', '127.0.0.1:9090': listen.TOLLGATE_ADMIN_LISTEN ?? '' },
    close: end,
  }
}

/** A folder with a configuration whose user `alice` has used 119 tokens of `read`, and no gateway that runs. */
export async function used(): Promise<Scene> {
  const scene = await emptyFolder()
  writeFileSync(join(scene.folder, 'tollgate.yaml'), USED)
  const upstream = await startUpstream()
  const store = `sqlite:${join(scene.folder, 'tollgate.db')}`
  const app = await startApp(yaml(upstream.url, USED.slice(USED.indexOf('quota:')), store))
  await fetch(`${app.url}/all`, { headers: bearer('alice') })
  await app.stop()
  await upstream.close()
  return scene
}

const USED = `listen: 127.0.0.1:8080
upstream: { url: http://127.0.0.1:9000 }
store: sqlite:tollgate.db
quota:
  global: { enabled: true, multiplier: 2 }
  baselines:
    personal:
      read: { 1h: 120, 5h: 400 }

    global:
      read: { 1h: 1200, 5h: 4000 }
routes:
  - { match: GET /v1/health, public: true }
  - { match: GET /all, category: read, cost: 119 }
  - { match: "POST /v1/user/:what", category: read, cost: 2 }
`
