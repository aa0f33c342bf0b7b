import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/**
 * The real Dockerfile, built by Debian's buildah, which needs no engine. No registry of images is asked: both bases are made
 * here, of Debian's packages and the Node that runs the tests, under the names in FROM.
 */

const run = promisify(execFile)

export interface Image {
  /** Its files, to look at and to run. */
  readonly rootfs: string
  readonly config: ImageConfig
  remove(): void
}

/** As `docker inspect` tells it. */
export interface ImageConfig {
  readonly User: string
  readonly WorkingDir: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly Labels: Readonly<Record<string, string>>
  readonly ExposedPorts: Readonly<Record<string, object>>
  readonly Volumes: Readonly<Record<string, object>>
  readonly StopSignal: string
  readonly Healthcheck: { readonly Test: readonly string[] }
}

/** @param context the folder with the Dockerfile */
export async function buildImage(context: string, buildArgs: Readonly<Record<string, string>>): Promise<Image> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-image-'))
  const buildah = async (...args: string[]): Promise<string> => {
    const storage = ['--storage-driver', 'vfs', '--root', join(folder, 'root'), '--runroot', join(folder, 'run')]
    const output = run('nice', ['buildah', ...storage, ...args], { cwd: context, maxBuffer: 2 ** 24 })
    const { stdout } = await output.catch((error) => {
      throw new Error(`${error.message}\n${error.stdout}`)
    })
    return stdout.trim()
  }
  await commit(buildah, await buildBase(join(folder, 'build')), 'docker.io/library/node:26-trixie-slim')
  await commit(buildah, await runBase(join(folder, 'base')), 'gcr.io/distroless/nodejs26-debian13:nonroot')
  const values = Object.entries(buildArgs).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`])
  // The packages come from the cache that `npm ci` has filled, and what is missing there from the registry.
  const volumes = [`${join(homedir(), '.npm')}:/root/.npm`, '/etc/ssl/certs:/etc/ssl/certs:ro'].flatMap((v) => [
    '-v',
    v,
  ])
  // OCI's own format has no health check.
  const how = ['--isolation', 'chroot', '--format', 'docker', '--pull-never', ...volumes, ...values]
  await buildah('build', ...how, '-t', 'localhost/tollgate', '.')
  const { Docker } = JSON.parse(await buildah('inspect', '--type', 'image', 'localhost/tollgate'))
  const rootfs = await buildah('mount', await buildah('from', '--pull-never', 'localhost/tollgate'))
  return { rootfs, config: Docker.config, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

const LIBRARIES = ['base-files', 'libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1', 'tzdata']

/** What `node:26-trixie-slim` has as far as a build needs it: a shell, Node, and npm as it is set up here. */
async function buildBase(folder: string): Promise<string> {
  await unpack(folder, [...LIBRARIES, 'dash', 'coreutils'])
  cpSync(realpathSync(process.execPath), join(folder, 'usr/local/bin/node'))
  const npm = dirname(dirname(realpathSync((await run('which', ['npm'])).stdout.trim())))
  cpSync(npm, join(folder, 'usr/local/lib/node_modules/npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(folder, 'usr/local/bin/npm'))
  mkdirSync(join(folder, 'usr/local/etc'), { recursive: true })
  const settings = ['cafile=/etc/ssl/certs/ca-certificates.crt', 'prefer-offline=true', 'audit=false', 'fund=false']
  writeFileSync(join(folder, 'usr/local/etc/npmrc'), `${settings.join('\n')}\n`)
  return folder
}

/** What `distroless/nodejs26-debian13:nonroot` has: Node and its libraries, and nothing that could be called. */
async function runBase(folder: string): Promise<string> {
  await unpack(folder, [...LIBRARIES, 'ca-certificates'])
  for (const tools of ['bin', 'sbin', 'usr/bin', 'usr/sbin'])
    rmSync(join(folder, tools), { recursive: true, force: true })
  cpSync(realpathSync(process.execPath), join(folder, 'nodejs/bin/node'))
  writeFileSync(
    join(folder, 'etc/passwd'),
    'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532::/home/nonroot:/sbin/nologin\n',
  )
  writeFileSync(join(folder, 'etc/group'), 'root:x:0:\nnonroot:x:65532:\n')
  return folder
}

/** Unpacks Debian's packages, and what they depend on, without running anything of them. */
async function unpack(folder: string, packages: readonly string[]): Promise<void> {
  const debian = /VERSION_CODENAME=(\w+)/.exec((await run('cat', ['/etc/os-release'])).stdout)?.[1] ?? 'stable'
  await run('mmdebstrap', ['--quiet', '--variant=extract', `--include=${packages.join(',')}`, debian, folder])
}

async function commit(buildah: (...args: string[]) => Promise<string>, folder: string, name: string): Promise<void> {
  const container = await buildah('from', 'scratch')
  await buildah('add', '--quiet', container, folder, '/')
  await buildah('commit', '--quiet', '--rm', container, name)
  rmSync(folder, { recursive: true, force: true })
}
