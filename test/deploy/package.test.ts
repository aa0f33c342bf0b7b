import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { startUpstream, type Upstream } from '../e2e/harness.ts'
import { tempFolder } from '../setup/at-end.ts'
import { freePort, startRedis } from '../setup/redis.ts'

/** The npm package: packed from a copy of the sources, looked into, and installed into an empty folder where it serves. */

const run = promisify(execFile)

let folder: string
/** Paths in the package. */
let files: string[]
beforeAll(async () => {
  folder = tempFolder()
  const sources = copySources()
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: sources,
    maxBuffer: 2 ** 24,
  })
  const [packed] = JSON.parse(stdout.slice(stdout.search(/^\[/m)))
  files = packed.files.map((file: { path: string }) => file.path)
  writeFileSync(join(installed(), 'package.json'), '{ "private": true }')
  await run('npm', ['install', '--omit=dev', '--prefer-offline', join(folder, packed.filename)], { cwd: installed() })
}, 300_000)

/** So that packing builds anew, from nothing, and the checkout stays as it is. */
function copySources(): string {
  const sources = join(folder, 'sources')
  const left = /^(?:node_modules|dist|\.git|\.tollgate)(?:$|[\\/])/
  cpSync('.', sources, { recursive: true, filter: (path) => !left.test(relative('.', path)) })
  symlinkSync(resolve('node_modules'), join(sources, 'node_modules'))
  return sources
}

function installed(): string {
  const path = join(folder, 'installed')
  mkdirSync(path, { recursive: true })
  return path
}

/** What the reference of the configuration asks for. */
const env = { ...process.env, TOLLGATE_ADMIN_TOKEN: 'a-token-of-32-characters-or-more' }

async function tollgate(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return run('npx', ['tollgate', ...args], { cwd: installed(), env }).then(
    (said) => ({ code: 0, ...said }),
    (error) => error,
  )
}

test('in the package is no script that npm would run for whoever installs it', async () => {
  const manifest = JSON.parse(readFileSync(join(installed(), 'node_modules/tollgate/package.json'), 'utf8'))
  const ofInstall = ['preinstall', 'install', 'postinstall', 'prepare']
  expect(Object.keys(manifest.scripts).filter((name) => ofInstall.includes(name))).toEqual([])
  expect(readFileSync(join(folder, 'sources/package.json'), 'utf8')).toBe(readFileSync('package.json', 'utf8'))
})

test('in the package are the gateway, its pages, the reference of its configuration, and nothing else', () => {
  const rules = [
    /^(?:package\.json|LICENSE|README\.md|CHANGELOG\.md|SECURITY\.md)$/,
    /^config\/tollgate\.(?:yaml|schema\.json)$/,
    /^dist\/(?:.*\.js|package\.json|licenses\.txt)$/,
    /^dist\/bin\/\w+\.cjs$/,
    /^dist\/store\/redis\/(?:form\/)?[\w-]+\.lua$/,
    /^dist\/store\/sqlite\/schema\.sql$/,
    /^dist\/(?:dashboard|reference\/page)\/(?:.*\/)?[\w.-]+\.(?:html|js|css|svg|png)$/,
    /^dist\/reference\/page\/licenses\//,
    /^dist\/contract\/api\.d\.ts$/,
  ]
  expect(files.filter((file) => !rules.some((rule) => rule.test(file)))).toEqual([])
  const named = [
    'dist/bin/tollgate.cjs',
    'dist/main.js',
    'dist/licenses.txt',
    'dist/workers/worker-main.js',
    'dist/store/redis/charge.lua',
    'dist/dashboard/index.html',
  ]
  expect(files).toEqual(expect.arrayContaining([...named, 'config/tollgate.yaml', 'config/tollgate.schema.json']))
})

test('in the package are none of the bundled services, and nothing of the demo', () => {
  expect(files.filter((file) => /services|demo|score/.test(file))).toEqual([])
})

test('in the package is said who may have built it', () => {
  expect(packageJson.publishConfig).toEqual({ access: 'public', provenance: true })
})

test('building leaves nothing of an older build', async () => {
  const sources = join(folder, 'sources')
  const stale = ['dist/stale.js', 'dist/store/stale.js', 'dist/dashboard/assets/stale.js', 'dist/contract/api.d.ts']
  for (const path of stale) writeFileSync(join(sources, path), '')
  await run('npm', ['run', 'build'], { cwd: sources })
  expect(stale.filter((path) => existsSync(join(sources, path)))).toEqual(['dist/dashboard/assets/stale.js'])
})

describe('installed into an empty folder', () => {
  let upstream: Upstream
  let config: string
  let gateway: ChildProcess | undefined
  let port: number
  let adminPort: number
  beforeAll(async () => {
    upstream = await startUpstream()
    config = join(folder, 'tollgate.yaml')
    port = await freePort()
    adminPort = await freePort()
    writeFileSync(
      config,
      `listen: 127.0.0.1:${port}
upstream: { url: "${upstream.url}" }
store: sqlite:${join(folder, 'quota.db')}
admin: { listen: "127.0.0.1:${adminPort}" }
quota: { baselines: { personal: { read: { 1h: 1 } }, global: { read: { 1h: 100 } } } }
routes: [{ match: "GET /*", category: read, cost: 1 }]
`,
    )
  })
  afterAll(async () => {
    gateway?.kill('SIGKILL')
  })

  test('the command tells its version and its help', async () => {
    expect(await tollgate('--version')).toMatchObject({ code: 0, stdout: `${packageJson.version}\n` })
    expect((await tollgate('--help')).stdout).toMatch(/^Usage: tollgate COMMAND/)
  })

  test('installed into an empty folder checks a configuration: 0 where it is good, 1 with the problems where it is not, 2 where it is called wrongly', async () => {
    expect(await tollgate('check', '-c', config)).toMatchObject({ code: 0 })
    const bad = join(folder, 'bad.yaml')
    writeFileSync(bad, 'upstream: { url: nowhere }\n')
    expect(await tollgate('check', '-c', bad)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${bad}:1:18 upstream.url: `),
    })
    expect(await tollgate('chekc')).toMatchObject({ code: 2, stderr: expect.stringContaining('unknown command') })
  })

  test('the reference of the configuration is beside it, and is one without problems', async () => {
    const reference = join(installed(), 'node_modules/tollgate/config/tollgate.yaml')
    expect(await tollgate('check', '-c', reference)).toMatchObject({ code: 0 })
    expect((await tollgate('schema')).stdout).toContain('"$schema"')
  })

  test('installed into an empty folder serves: a request is let through, the next is refused, and SIGTERM ends it with 0', async () => {
    const made = await tollgate('token', 'create', '--user', 'alice', '--name', 'test', '-c', config)
    const authorization = `Bearer ${made.stdout.trim()}`
    // Not by npx, which would end at the signal and leave the gateway running (npm 11).
    gateway = spawn('node_modules/.bin/tollgate', ['serve', '-c', config], { cwd: installed(), stdio: 'ignore' })
    const ended = once(gateway, 'exit')
    for (let tries = 0; (await tollgate('healthcheck', '-c', config)).code !== 0 && tries < 100; tries++)
      await sleep(100)
    const statuses = []
    for (let i = 0; i < 2; i++) {
      statuses.push((await fetch(`http://127.0.0.1:${port}/x`, { headers: { authorization } })).status)
    }
    expect(statuses).toEqual([200, 429])
    const page = await fetch(`http://127.0.0.1:${adminPort}/`)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<html')])
    gateway.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })

  test('installed into an empty folder serves with two workers over Redis, which charge one window', async () => {
    const redis = await startRedis()
    const file = join(folder, 'workers.yaml')
    const text = readFileSync(config, 'utf8').replace(/^store: .*$/m, `store: ${redis.url}`)
    writeFileSync(file, `${text}workers: 2\nauth: { gateway_tokens: true }\n`)
    const made = await tollgate('token', 'create', '--user', 'alice', '--name', 'test', '-c', file)
    const authorization = `Bearer ${made.stdout.trim()}`
    gateway = spawn('node_modules/.bin/tollgate', ['serve', '-c', file], { cwd: installed(), stdio: 'ignore' })
    const ended = once(gateway, 'exit')
    for (let tries = 0; (await tollgate('healthcheck', '-c', file)).code !== 0 && tries < 100; tries++) await sleep(100)
    const get = async () => (await fetch(`http://127.0.0.1:${port}/x`, { headers: { authorization } })).status
    const statuses = await Promise.all(Array.from({ length: 6 }, get))
    expect(statuses.sort()).toEqual([200, 429, 429, 429, 429, 429])
    gateway.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    await redis.stop()
  })

  test('installed into an empty folder has the types of the admin API for programs, and the schema for editors', async () => {
    const program = `
      import type { ErrorResponse } from 'tollgate/api'
      export const codeOf = (response: ErrorResponse): string => response.error
      // @ts-expect-error: no such member
      export const wrong = (response: ErrorResponse) => response.nothing
    `
    writeFileSync(join(installed(), 'program.mts'), program)
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--types', '']
    await run(resolve('node_modules/.bin/tsc'), [...options, 'program.mts'], { cwd: installed() })
    const resolved = await run(process.execPath, ['-p', 'require.resolve("tollgate/schema.json")'], {
      cwd: installed(),
    })
    expect(resolved.stdout.trim().endsWith(['config', 'tollgate.schema.json'].join(sep))).toBe(true)
  })
})
