import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { freePort, startRedis } from '../setup/redis.ts'
import {
  CHART,
  EXAMPLES,
  environmentOf,
  gatewayOf,
  type Manifest,
  manifestsOf,
  podSpecsOf,
  render,
} from './rendering.ts'

/** What the chart says of the container is done to a real process: its arguments, environment and configuration, probes, hooks. */

let folder: string
let ports: { http: number; admin: number }
let manifests: Manifest[]
let gateway: ChildProcess
let env: NodeJS.ProcessEnv
let log = ''

beforeAll(async () => {
  folder = tempFolder()
  ports = { http: await freePort(), admin: await freePort() }
  const listen = `listenHost=127.0.0.1,containerPorts.http=${ports.http},containerPorts.admin=${ports.admin}`
  const set = [
    '--set',
    listen,
    '--set',
    'drain.delaySeconds=0',
    '--set-json',
    'config.routes=[{"match":"GET /a","public":true}]',
  ]
  manifests = manifestsOf(await render(CHART, '-f', EXAMPLES.get('embedded-ephemeral') ?? '', ...set))
  const { data } = manifests.find(({ kind }) => kind === 'ConfigMap')
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(file, data['tollgate.yaml'])
  env = { ...process.env, ...environmentOf(manifests, { 'tollgate-admin/token': 'x'.repeat(32) }) }
  env.TOLLGATE_STORE_URL = env.TOLLGATE_STORE_URL?.replace('/data', folder) ?? ''
  const args = gatewayOf(manifests).args.map((arg: string) => arg.replace('/etc/tollgate/tollgate.yaml', file))
  gateway = spawn(process.execPath, [join(CHART, '../src/main.ts'), ...args], { env })
  for (const stream of [gateway.stdout, gateway.stderr]) stream?.on('data', (chunk: Buffer) => (log += chunk))
})
afterAll(() => {
  if (gateway.exitCode === null) gateway.kill('SIGKILL')
})

/** As the kubelet asks: by the address of the pod. */
const ask = async ({ path, port }: { path: string; port: 'http' | 'admin' }): Promise<number> =>
  (await fetch(`http://127.0.0.1:${ports[port]}${path}`)).status

test('the gateway of the chart starts, is probed, drains at the hook and ends at the signal', {
  timeout: 60_000,
}, async () => {
  const { startupProbe, readinessProbe, livenessProbe, lifecycle } = gatewayOf(manifests)
  while ((await ask(startupProbe.httpGet).catch(() => 0)) !== 200) {
    expect(gateway.exitCode, log).toBeNull()
    await sleep(100)
  }
  expect(await ask(livenessProbe.httpGet)).toBe(200)
  expect(await ask(readinessProbe.httpGet)).toBe(200)
  expect(await testHook(), log).toMatch(/^404 \S+\n$/)

  expect(await runHook(lifecycle.preStop.exec.command)).toContain('Out of service')
  expect(await ask(readinessProbe.httpGet)).toBe(503)
  expect(await ask(livenessProbe.httpGet)).toBe(200)
  gateway.kill('SIGTERM')
  expect((await once(gateway, 'exit'))[0], log).toBe(0)
})

test('the container before it checks the configuration, and fails with file, line and cure', async () => {
  const [{ initContainers }] = podSpecsOf(manifests)
  const [{ args }] = initContainers.filter(({ name }: Manifest) => name === 'check')
  expect((await tollgate(args)).stdout).toContain('tollgate.yaml: ok')

  const broken = join(folder, 'broken.yaml')
  const text = readFileSync(join(folder, 'tollgate.yaml'), 'utf8')
  writeFileSync(broken, text.replace('match: GET /a', 'match: GET a'))
  const line = text.split('\n').findIndex((each) => each.includes('match: GET /a')) + 1
  const failed = tollgate(args.map((arg: string) => arg.replace('/etc/tollgate/tollgate.yaml', broken)))
  await expect(failed).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(new RegExp(`broken\\.yaml:${line}:\\d+ routes\\[0\\]\\.match: `)),
  })
})

test('the probes of the chart leave a pod in the Service while Redis is frozen, and serve what needs no charge', {
  timeout: 120_000,
}, async () => {
  const redis = await startRedis()
  const own = { http: await freePort(), admin: await freePort() }
  const listen = `listenHost=127.0.0.1,containerPorts.http=${own.http},containerPorts.admin=${own.admin}`
  const routes = 'config.routes=[{"match":"GET /open","public":true}]'
  const set = ['--set', listen, '--set-json', routes, '--set', `redis.url=${redis.url}`]
  const rendered = manifestsOf(await render(CHART, '-f', EXAMPLES.get('minimal') ?? '', ...set))
  const file = join(folder, 'redis.yaml')
  writeFileSync(file, rendered.find(({ kind }) => kind === 'ConfigMap').data['tollgate.yaml'])
  const ofPod = { ...process.env, ...environmentOf(rendered, { 'tollgate-admin/token': 'x'.repeat(32) }) }
  const pod = spawn(process.execPath, [join(CHART, '../src/main.ts'), 'serve', '-c', file], { env: ofPod })
  const of = async ({ path, port }: { path: string; port: 'http' | 'admin' }) =>
    fetch(`http://127.0.0.1:${own[port]}${path}`).catch(() => null)
  const { startupProbe, readinessProbe, livenessProbe } = gatewayOf(rendered)
  const probes = async () =>
    Promise.all([startupProbe, readinessProbe, livenessProbe].map(async ({ httpGet }) => (await of(httpGet))?.status))
  try {
    await expect.poll(probes, { timeout: 60_000 }).toEqual([200, 200, 200])
    process.kill(redis.pid, 'SIGSTOP')
    const readiness = async () => (await of(readinessProbe.httpGet))?.text()
    await expect.poll(readiness, { timeout: 30_000 }).toContain('the quota store does not answer')
    expect(await probes()).toEqual([200, 200, 200])
    // Nobody is behind the gateway here: it is forwarded all the same.
    expect((await of({ path: '/open', port: 'http' }))?.headers.get('x-request-id')).not.toBe(null)
    process.kill(redis.pid, 'SIGCONT')
    await expect.poll(readiness, { timeout: 30_000 }).toBe('{"ready":true}')
  } finally {
    pod.kill('SIGKILL')
    await redis.stop()
  }
})

/** As the container runtime does it: of the image the program is Node, and the gateway lies at /app/dist. */
async function runHook([node, program, ...args]: readonly string[]): Promise<string> {
  expect([node, program]).toEqual(['/nodejs/bin/node', '/app/dist/main.js'])
  return (await tollgate(args)).stdout
}

/** The gateway's program with the files of this machine. */
function tollgate(args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const local = args.map((arg) => arg.replace('/etc/tollgate', folder))
  return promisify(execFile)(process.execPath, [join(CHART, '../src/main.ts'), ...local], { env })
}

/** What `helm test` runs, with our address in place of the Service's. */
async function testHook(): Promise<string> {
  const [{ command, args }] = manifests.find(({ kind }) => kind === 'Pod').spec.containers
  expect(command).toEqual(['/nodejs/bin/node', '-e'])
  const script = args[0].replace('demo-tollgate:80', `127.0.0.1:${ports.http}`)
  return (await promisify(execFile)(process.execPath, ['-e', script])).stdout
}
