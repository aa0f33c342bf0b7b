import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { parseConfig } from '../../src/config/load.ts'
import { startUpstream, type Upstream } from '../e2e/harness.ts'
import { tempFolder } from '../setup/at-end.ts'
import { freePort } from '../setup/redis.ts'
import { startContainer } from './image-run.ts'

/**
 * config/tollgate.service, read by systemd itself. It is not started by it, since no systemd is the first process where the tests
 * run; what it takes away from the gateway is taken away by runc.
 */

const UNIT = 'config/tollgate.service'
const text = readFileSync(UNIT, 'utf8')

/** Values of a key, in the order of the file. */
const values = (key: string): string[] =>
  [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value ?? '')

/** A root of a machine where `npm install --global` has put the command. */
let root: string
beforeAll(() => {
  root = tempFolder()
  // Units that ours stands on.
  cpSync('/lib/systemd/system', join(root, 'usr/lib/systemd/system'), { recursive: true })
  symlinkSync('usr/lib', join(root, 'lib'))
  for (const program of ['usr/bin/tollgate', 'bin/kill']) {
    mkdirSync(join(root, program, '..'), { recursive: true })
    writeFileSync(join(root, program), '#!/bin/sh\n')
    chmodSync(join(root, program), 0o755)
  }
})

function verify(unit: string): { status: number | null; said: string } {
  const folder = join(root, 'etc/systemd/system')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'tollgate.service'), unit)
  const args = ['verify', `--root=${root}`, '--man=no', '--recursive-errors=no', 'tollgate.service']
  const { status, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  return { status, said: stderr }
}

describe('the systemd unit', () => {
  test('the systemd unit is without fault to systemd', () => {
    expect(verify(text)).toEqual({ status: 0, said: '' })
    expect(verify(text.replace('Restart=on-failure', 'Restart=maybe')).said).toContain('maybe')
  })

  test('the systemd unit exposes less than systemd calls exposed', () => {
    const args = ['security', '--offline=yes', '--no-pager', '--threshold=15', UNIT]
    expect(spawnSync('systemd-analyze', args, { encoding: 'utf8' })).toMatchObject({ status: 0 })
  })

  test('the systemd unit starts a command that the package has, with options that it knows', () => {
    const [command, ...args] = values('ExecStart')[0]?.split(' ') ?? []
    expect(packageJson.bin).toHaveProperty(command ?? '')
    const file = join(root, 'bad.yaml')
    writeFileSync(file, 'unknown: 1\n')
    const put = args.map((arg) => (arg.startsWith('/etc/') ? file : arg))
    const { status, stderr } = spawnSync(process.execPath, ['src/main.ts', ...put], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([1, expect.stringContaining('unknown key')])
  })

  test('the systemd unit gives requests the time that the gateway gives them', () => {
    const config = parseConfig('upstream: { url: "http://127.0.0.1:1" }\nadmin: { token: 0123456789abcdef-0 }', 'x', {})
    if (!config.ok) throw new Error(JSON.stringify(config.problems))
    const { drain, edge, upstream } = config.config
    expect(Number(values('TimeoutStopSec'))).toBeGreaterThanOrEqual((drain.delayMs + drain.timeoutMs) / 1000 + 15)
    const [, longest] = /up to (\d+) s fit here/.exec(text) ?? []
    expect(Number(values('TimeoutStopSec'))).toBeGreaterThanOrEqual(Number(longest) + drain.timeoutMs / 1000 + 15)
    expect(Number(values('LimitNOFILE'))).toBeGreaterThan(
      edge.maxConnections + upstream.maxConnections + 2 * edge.maxTunnels,
    )
  })

  test('reloads and stops by the signals that the gateway knows, given to its first process alone', () => {
    expect(values('ExecReload')).toEqual(['/bin/kill -HUP $MAINPID'])
    expect([values('KillSignal'), values('KillMode')]).toEqual([['SIGTERM'], ['mixed']])
  })

  test('the systemd unit has one folder for the embedded store', () => {
    expect(values('WorkingDirectory')).toEqual([`/var/lib/${values('StateDirectory')}`])
  })
})

/** The system calls that a list of systemd's leaves, such as `@system-service`. */
function systemCallsOf(filters: readonly string[]): string[] {
  const allowed = new Set(namesOf('@default'))
  for (const filter of filters) {
    const isTakenAway = filter.startsWith('~')
    const names = filter.replace('~', '').split(' ').flatMap(namesOf)
    for (const name of names) isTakenAway ? allowed.delete(name) : allowed.add(name)
  }
  // As systemd does: these are permitted whatever is taken away.
  return [...new Set([...allowed, ...namesOf('@default')])]
}

function namesOf(name: string): string[] {
  if (!name.startsWith('@')) return [name]
  const said = execFileSync('systemd-analyze', ['syscall-filter', name], { encoding: 'utf8' })
  const names = [...said.matchAll(/^ +([@\w-]+)$/gm)].map(([, name]) => name ?? '')
  return names.flatMap(namesOf)
}

const FAMILIES: Readonly<Record<string, number>> = { AF_UNIX: 1, AF_INET: 2, AF_INET6: 10 }

describe('under what the unit takes away', () => {
  let backend: Upstream
  let data: string
  beforeAll(async () => {
    backend = await startUpstream()
    data = tempFolder()
    chownSync(data, 65000, 65000)
  })

  test('a gateway with workers starts, forwards and stops', async () => {
    const config = mkdtempSync(join(root, 'config-'))
    chmodSync(root, 0o755)
    chmodSync(config, 0o755)
    const port = await freePort()
    writeFileSync(
      join(config, 'tollgate.yaml'),
      `listen: 127.0.0.1:${port}
workers: 2
upstream: { url: "${backend.url}" }
store: sqlite:/data/tollgate.db
admin: { listen: "127.0.0.1:${await freePort()}" }
routes: [{ match: "GET /*", public: true }]
`,
    )
    const rootfs = join(root, 'empty')
    mkdirSync(rootfs)
    for (const name of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(rootfs, name))
    const Env = ['PATH=/usr/bin', ...values('Environment')]
    const Entrypoint = [process.execPath, 'src/main.ts']
    const Cmd = (values('ExecStart')[0] ?? '').split(' ').slice(1)
    const machine = { rootfs, config: { User: '65000:65000', WorkingDir: process.cwd(), Env, Entrypoint, Cmd } }
    const gateway = startContainer(machine, {
      config,
      data,
      memoryLimit: 2 ** 30,
      binds: ['/usr', process.cwd(), realpathSync('node_modules')],
      systemCalls: {
        names: systemCallsOf(values('SystemCallFilter')),
        families: (values('RestrictAddressFamilies')[0] ?? '').split(' ').map((name) => FAMILIES[name] ?? -1),
      },
    })
    try {
      const response = () => fetch(`http://127.0.0.1:${port}/x`).then(({ status }) => status, String)
      await expect
        .poll(response, { timeout: 60_000, message: 'answered' })
        .toBe(200)
        .catch((error: unknown) => {
          throw new Error(gateway.stdout() + gateway.stderr(), { cause: error })
        })
      await gateway.kill('TERM')
      expect(await gateway.ended).toBe(0)
    } finally {
      await gateway.end()
    }
  })
})
