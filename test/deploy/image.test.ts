import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type http from 'node:http'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { startUpstream, type Upstream } from '../e2e/harness.ts'
import { freePort } from '../setup/redis.ts'
import { buildImage, type Image } from './image-build.ts'
import { type Container, runToEnd, startContainer, volume } from './image-run.ts'

/** The image of the Dockerfile: built, looked into, run as the chart runs it, and stopped. Needs root on Debian. */

const MIB = 2 ** 20
const SOURCE = 'https://forge.example/team/tollgate'

let image: Image
beforeAll(async () => {
  image = await buildImage('.', {
    VERSION: packageJson.version,
    REVISION: 'test',
    CREATED: '2026-01-01T00:00:00Z',
    SOURCE,
  })
}, 900_000)
afterAll(() => image?.remove())

/** Paths of the files in /app, relative to it. */
function filesOfApp(): string[] {
  const app = join(image.rootfs, 'app')
  return readdirSync(app, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(app, join(entry.parentPath, entry.name)))
}

test('in the image are the gateway, what it needs of npm, and nothing else', () => {
  const rules = [
    /^(?:package\.json|LICENSE)$/,
    /^dist\/(?:.*\.js|package\.json|licenses\.txt)$/,
    /^dist\/compiled\/v26[\w.-]+\/\w+$/,
    /^dist\/store\/redis\/(?:form\/)?[\w-]+\.lua$/,
    /^dist\/store\/sqlite\/schema\.sql$/,
    /^dist\/(?:dashboard|reference\/page)\/(?:.*\/)?[\w.-]+\.(?:html|js|css|svg|png)$/,
    /^dist\/reference\/page\/licenses\//,
    /^node_modules\/(?:.*\/)?package\.json$/,
    /^node_modules\/(?:.*\/)?[^/]*(?:licen[cs]e|copying|notice)[^/]*$/i,
  ]
  const files = filesOfApp()
  expect(files.filter((file) => !rules.some((rule) => rule.test(file)))).toEqual([])
  const named = ['main.js', 'workers/worker-main.js', 'store/redis/charge.lua', 'dashboard/index.html']
  expect(files).toEqual(expect.arrayContaining(named.map((name) => `dist/${name}`)))
})

test('in the image are no tests, no types, no bundled services and no settings of npm', () => {
  const unwanted = /\.[cm]?ts$|(?:^|\/)(?:test|tests|__tests__)(?:\/|\.[cm]?js$)|\.npmrc|dist\/(?:services|demo)/
  expect(filesOfApp().filter((file) => unwanted.test(file))).toEqual([])
})

test('in the image are the packages of production only, each with its licence', () => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { dev?: true; link?: true }>
  }
  const production = Object.keys(lock.packages).filter((path) => {
    const { dev, link } = lock.packages[path] ?? {}
    // Not the workspace of the bundled services, which is a link.
    return path.startsWith('node_modules/') && dev !== true && link !== true
  })
  const packages = filesOfApp().flatMap(
    (file) => /^((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(file)?.[1] ?? [],
  )
  expect(packages.sort()).toEqual(production.sort())
})

test('in the image is no shell and no package manager', () => {
  const named = readdirSync(image.rootfs, { recursive: true, encoding: 'utf8' })
  expect(
    named.filter((path) => /(?:^|\/)(?:sh|bash|dash|busybox|npm|npx|apt|dpkg)$/.test(path) && isFile(path)),
  ).toEqual([])
})

test('in the image is nothing of the gateway that its own user could change', () => {
  const paths = ['', ...readdirSync(join(image.rootfs, 'app'), { recursive: true, encoding: 'utf8' })]
  const open = paths.filter((path) => {
    const { uid, gid, mode } = statSync(join(image.rootfs, 'app', path))
    return uid !== 0 || gid !== 0 || (mode & 0o022) !== 0
  })
  expect(open).toEqual([])
})

test('in the image is what the chart and an engine go by', () => {
  expect(image.config).toMatchObject({
    User: '65532:65532',
    WorkingDir: '/app',
    Entrypoint: ['/nodejs/bin/node', '--min-semi-space-size=4', 'dist/main.js'],
    Cmd: ['serve'],
    ExposedPorts: { '8080/tcp': {}, '9090/tcp': {} },
    Volumes: { '/data': {} },
    StopSignal: 'SIGTERM',
    Healthcheck: { Test: ['CMD', '/nodejs/bin/node', 'dist/main.js', 'healthcheck'] },
    Labels: {
      'org.opencontainers.image.title': packageJson.name,
      'org.opencontainers.image.description': packageJson.description,
      'org.opencontainers.image.licenses': packageJson.license,
      'org.opencontainers.image.version': packageJson.version,
      'org.opencontainers.image.source': SOURCE,
      'org.opencontainers.image.revision': 'test',
      'org.opencontainers.image.created': '2026-01-01T00:00:00Z',
    },
  })
})

function isFile(path: string): boolean {
  return statSync(join(image.rootfs, path), { throwIfNoEntry: false })?.isFile() ?? false
}

describe('the image runs', () => {
  let upstream: Upstream
  let config: string
  let data: string
  let port: number
  let token: string
  const containers: Container[] = []
  /** Answers of the upstream that wait to be given. */
  const held: http.ServerResponse[] = []

  beforeAll(async () => {
    upstream = await startUpstream((seen, res) => (seen.url === '/slow' ? held.push(res) : res.end('ok')))
    config = mkdtempSync(join(tmpdir(), 'tollgate-config-'))
    data = volume(image, 'data')
    port = await freePort()
    writeFileSync(
      join(config, 'tollgate.yaml'),
      `listen: 127.0.0.1:${port}
upstream: { url: "${upstream.url}" }
store: sqlite:/data/tollgate.db
admin: { listen: "127.0.0.1:${await freePort()}" }
quota: { baselines: { personal: { read: { 1h: 1 } }, global: { read: { 1h: 1000 } } } }
routes:
  - { match: GET /charged, category: read, cost: 1 }
  - { match: "GET /*", category: read, cost: 0 }
`,
      { mode: 0o644 },
    )
    chmodSync(config, 0o755)
  })
  afterEach(async () => {
    for (const container of containers.splice(0)) await container.end()
  })
  afterAll(async () => {
    for (const folder of [config, data]) rmSync(folder, { recursive: true, force: true })
  })

  const options = () => ({ config, data, memoryLimit: 512 * MIB })
  const get = (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${token}` } })

  async function started(): Promise<Container> {
    const container = startContainer(image, options())
    containers.push(container)
    let ended = false
    void container.ended.then(() => (ended = true))
    for (;;) {
      const { code } = await container.exec(...image.config.Healthcheck.Test.slice(1)).catch(() => ({ code: 1 }))
      if (code === 0) return container
      if (ended) throw new Error(container.stdout() + container.stderr())
      await sleep(100)
    }
  }

  test('its other commands too, with the same configuration', async () => {
    expect(await runToEnd(image, { ...options(), args: ['--version'] })).toEqual({
      code: 0,
      stdout: `${packageJson.version}\n`,
      stderr: '',
    })
    expect(await runToEnd(image, { ...options(), args: ['check'] })).toMatchObject({ code: 0 })
    const made = await runToEnd(image, { ...options(), args: ['token', 'create', '--user', 'alice', '--name', 'test'] })
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^gw_\S+\n$/) })
    token = made.stdout.trimEnd()
  })

  test('a start reads what was compiled when the image was built', async () => {
    const script = `const { stdout, stderr } = require('child_process').spawnSync(process.execPath, ['dist/main.js', 'check'],
      { env: { ...process.env, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }, encoding: 'utf8' })
      console.log(stdout, stderr)`
    const args = ['-e', script]
    const { stdout } = await runToEnd(image, { ...options(), entrypoint: ['/nodejs/bin/node'], args })
    expect(stdout.match(/V8 code cache for CommonJS \/app\/dist\/\S+ was accepted/g)?.length).toBeGreaterThan(5)
    expect(stdout).not.toContain('was rejected')
  })

  test('its heap is bounded by the memory of the container, not of the machine', async () => {
    const args = ['-p', 'require("v8").getHeapStatistics().heap_size_limit / 2 ** 20']
    const { stdout } = await runToEnd(image, { ...options(), entrypoint: ['/nodejs/bin/node'], args })
    expect(Number(stdout)).toBeGreaterThan(0.6 * 512)
    expect(Number(stdout)).toBeLessThan(0.7 * 512)
  })

  test('as user 65532 without any right, with nothing to write to but /tmp and /data', async () => {
    const container = await started()
    const status = readFileSync(`/proc/${await container.pid()}/status`, 'utf8')
    expect(status).toMatch(/^Uid:\t65532\t65532\t65532\t65532$/m)
    expect(status).toMatch(/^Gid:\t65532\t/m)
    expect(status).toMatch(/^CapEff:\t0+$/m)
    expect(status).toMatch(/^CapBnd:\t0+$/m)
    expect(status).toMatch(/^NoNewPrivs:\t1$/m)
    expect(status).toMatch(/^NSpid:\t\d+\t1$/m)
    const write = (path: string) => container.exec('/nodejs/bin/node', '-e', `fs.writeFileSync("${path}", "")`)
    expect((await write('/app/x')).output).toContain('EROFS')
    expect((await write('/etc/tollgate/x')).output).toContain('EROFS')
    expect((await write('/tmp/x')).code).toBe(0)
    expect((await write('/data/x')).code).toBe(0)
    await container.kill('TERM')
    expect(await container.ended).toBe(0)
  })

  test('a request under way at SIGTERM is answered whole, then it ends with exit code 0', async () => {
    const container = await started()
    const slow = get('/slow')
    await expect.poll(() => held.length, { timeout: 30_000 }).toBe(1)
    await container.kill('TERM')
    while ((await get('/other').catch(() => null)) !== null) await sleep(20)
    held.pop()?.end('late, and whole')
    expect(await (await slow).text()).toBe('late, and whole')
    expect(await container.ended).toBe(0)
  })

  test('what was charged outlives kill -9, in the volume', async () => {
    const first = await started()
    const before = await get('/charged')
    await first.kill('KILL')
    expect([before.status, await first.ended]).toEqual([200, 137])
    const second = await started()
    expect((await get('/charged')).status).toBe(429)
    await second.kill('TERM')
    expect(await second.ended).toBe(0)
  })
})
