import { execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { ImageConfig } from './image-build.ts'

/**
 * Runs an image as an engine would be told to: `--read-only --cap-drop ALL --security-opt no-new-privileges --network host`, with
 * a limit of memory, by Debian's runc. Its processes see their own process numbers, so the command is the first one.
 */

const run = promisify(execFile)

export interface Runnable {
  readonly rootfs: string
  readonly config: Pick<ImageConfig, 'User' | 'WorkingDir' | 'Env' | 'Entrypoint' | 'Cmd'>
}

export interface RunOptions {
  /** After the entry point; default the image's command. */
  readonly args?: readonly string[]
  /** In place of the image's. */
  readonly entrypoint?: readonly string[]
  /** Mounted at /etc/tollgate, read-only. */
  readonly config: string
  /** Mounted at /data, as a volume that is used again. */
  readonly data: string
  /** Bytes. */
  readonly memoryLimit: number
  /** Folders of this machine at the same place, read-only. */
  readonly binds?: readonly string[]
  /** What may be called, and the families of sockets; everything else fails with EPERM. Default everything. */
  readonly systemCalls?: { readonly names: readonly string[]; readonly families: readonly number[] }
}

export interface Container {
  readonly stdout: () => string
  readonly stderr: () => string
  /** Its number outside. */
  pid(): Promise<number>
  /** Runs something beside it, as a health check is. Never rejects for its exit code. */
  exec(...args: string[]): Promise<{ code: number; output: string }>
  kill(signal: 'TERM' | 'KILL'): Promise<void>
  readonly ended: Promise<number>
  /** Whatever became of it: afterwards it is gone. */
  end(): Promise<void>
}

/** A folder that belongs to whom the image's volume belongs to, as an engine makes it. */
export function volume({ rootfs }: Runnable, path: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-volume-'))
  const { uid, gid } = statSync(join(rootfs, path))
  chownSync(folder, uid, gid)
  return folder
}

export function startContainer(image: Runnable, options: RunOptions): Container {
  const id = `tollgate-${randomUUID()}`
  const bundle = mkdtempSync(join(tmpdir(), 'tollgate-bundle-'))
  const state = join(bundle, 'state')
  const process = processOf(image, options)
  mkdirSync(join(image.rootfs, 'etc/tollgate'), { recursive: true })
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(specOf(image, options, process, id)))
  const child = spawn('runc', ['--root', state, 'run', '--bundle', bundle, id], { stdio: ['ignore', 'pipe', 'pipe'] })
  let isOver = false
  const ended = once(child, 'close').then(([code]) => {
    isOver = true
    rmSync(bundle, { recursive: true, force: true })
    return code as number
  })
  const kill = async (signal: string): Promise<void> => {
    await run('runc', ['--root', state, 'kill', id, signal])
  }
  return {
    stdout: collect(child.stdout),
    stderr: collect(child.stderr),
    ended,
    pid: async () => JSON.parse((await run('runc', ['--root', state, 'state', id])).stdout).pid,
    async exec(...args) {
      const file = join(bundle, `${randomUUID()}.json`)
      writeFileSync(file, JSON.stringify({ ...process, args }))
      const beside = spawn('runc', ['--root', state, 'exec', '--process', file, id], {
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const [stdout, stderr] = [collect(beside.stdout), collect(beside.stderr)]
      const [code] = await once(beside, 'close')
      return { code, output: stdout() + stderr() }
    },
    kill,
    async end() {
      // runc makes the folder of its state anew where it is gone.
      if (!isOver) await kill('KILL').catch(() => {})
      await ended
    },
  }
}

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export async function runToEnd(image: Runnable, options: RunOptions): Promise<Ended> {
  const container = startContainer(image, options)
  return { code: await container.ended, stdout: container.stdout(), stderr: container.stderr() }
}

/** Of one stream: which of two is read first is chance. */
function collect(stream: Readable): () => string {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

function processOf({ config }: Runnable, { args, entrypoint }: RunOptions): object {
  const [uid, gid] = config.User.split(':').map(Number)
  return {
    terminal: false,
    user: { uid, gid },
    args: [...(entrypoint ?? config.Entrypoint), ...(args ?? config.Cmd)],
    env: config.Env,
    cwd: config.WorkingDir,
    capabilities: { bounding: [], effective: [], permitted: [] },
    noNewPrivileges: true,
  }
}

const MOUNTS = [
  { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
  { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=64k'] },
  { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
  { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', 'mode=1777'] },
]

function specOf({ rootfs }: Runnable, options: RunOptions, process: object, id: string): object {
  const { config, data, memoryLimit, binds = [], systemCalls } = options
  return {
    ociVersion: '1.0.2',
    process,
    root: { path: rootfs, readonly: true },
    mounts: [
      ...MOUNTS,
      ...binds.map((path) => ({ destination: path, type: 'bind', source: path, options: ['rbind', 'ro'] })),
      { destination: '/etc/tollgate', type: 'bind', source: config, options: ['bind', 'ro'] },
      { destination: '/data', type: 'bind', source: data, options: ['bind', 'rw'] },
    ],
    linux: {
      cgroupsPath: `/${id}`,
      // No network of its own: the tests talk to it by the loopback.
      namespaces: ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })),
      resources: { memory: { limit: memoryLimit } },
      maskedPaths: ['/proc/kcore', '/proc/keys', '/proc/timer_list'],
      readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
      ...(systemCalls !== undefined && { seccomp: seccompOf(systemCalls) }),
    },
  }
}

const EPERM = 1

function seccompOf({ names, families }: NonNullable<RunOptions['systemCalls']>): object {
  const action = 'SCMP_ACT_ALLOW'
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: EPERM,
    syscalls: [
      { names: names.filter((name) => name !== 'socket'), action },
      ...families.map((value) => ({ names: ['socket'], action, args: [{ index: 0, value, op: 'SCMP_CMP_EQ' }] })),
    ],
  }
}
