/**
 * What the tests in a cluster need and npm cannot bring, the parts of Kubernetes and kwok (Go modules, in exact versions), etcd and
 * kubectl (Debian). The programs are kept in $TOLLGATE_TOOLS, or ~/.cache/tollgate-tools. `node test/setup/cluster-tools.ts` makes what is missing
 * there, which takes minutes; with everything there it needs no Go.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureDebian } from '../../bench/machine.ts'
import { TOOLS_FOLDER } from './deploy-tools.ts'

const KUBERNETES = '1.33.0'
const KWOK = 'v0.8.0'
/** The program that holds the parts of Kubernetes. */
const SOURCE = fileURLToPath(new URL('../cluster/kubernetes', import.meta.url))
/** Packages of Debian, each with its program. A kubectl of any age can patch. */
const DEBIAN = new Map([
  ['etcd-server', '/usr/bin/etcd'],
  ['kubernetes-client', '/usr/bin/kubectl'],
])
/** What kwok does with nodes and pods: they are ready at once, and gone at once. */
const STAGES = 'kustomize/stage/{node,pod}/fast/{node,pod}-*.yaml'

/** One job for each two cores, since others use the machine too. */
const JOBS = `-p=${Math.max(1, Math.ceil(availableParallelism() / 2))}`

interface Tool {
  /** Its folder holds the version, so that another version is made anew. */
  readonly folder: string
  make(folder: string): void
}

const TOOLS: readonly Tool[] = [
  { folder: `kubernetes-${KUBERNETES}-${digest(SOURCE)}`, make: makeKubernetes },
  { folder: `kwok-${KWOK}`, make: makeKwok },
]

/** Paths of what a cluster is made of. */
export const CLUSTER_PROGRAMS = {
  etcd: '/usr/bin/etcd',
  kubectl: '/usr/bin/kubectl',
  kubernetes: join(TOOLS_FOLDER, TOOLS[0]?.folder ?? '', 'kubernetes'),
  kwok: join(TOOLS_FOLDER, TOOLS[1]?.folder ?? '', 'kwok'),
  stages: join(TOOLS_FOLDER, TOOLS[1]?.folder ?? '', 'stages.yaml'),
} as const

/** @throws Error that says how to get what is missing */
export function requireClusterPrograms(): void {
  const missing = Object.values(CLUSTER_PROGRAMS).filter((path) => !existsSync(path))
  if (missing.length > 0) throw new Error(`${missing.join(', ')} is missing: run node test/setup/cluster-tools.ts`)
}

/** Installs and builds what is missing. @param tell is given a line for each. @throws Error that says what to install */
function installClusterTools(tell: (line: string) => void): void {
  ensureDebian(DEBIAN)
  const missing = TOOLS.filter(({ folder }) => !existsSync(join(TOOLS_FOLDER, folder)))
  if (missing.length > 0 && spawnSync('go', ['version']).status !== 0) {
    const names = missing.map(({ folder }) => folder).join(', ')
    throw new Error(`The tests in a cluster need ${names} in ${TOOLS_FOLDER}, built with Go: install Go 1.26.`)
  }
  for (const { folder, make } of missing) {
    const start = performance.now()
    const half = join(TOOLS_FOLDER, `${folder}.half`)
    rmSync(half, { recursive: true, force: true })
    mkdirSync(half, { recursive: true })
    make(half)
    renameSync(half, join(TOOLS_FOLDER, folder))
    tell(`${folder}: ${((performance.now() - start) / 1000).toFixed(0)} s`)
  }
}

function makeKubernetes(folder: string): void {
  const source = join(folder, 'source')
  cpSync(SOURCE, source, { recursive: true })
  // By the version a server says which API it has, and the chart asks for one.
  const [major, minor] = KUBERNETES.split('.')
  const version = [`gitVersion=v${KUBERNETES}`, `gitMajor=${major}`, `gitMinor=${minor}`].map(
    (set) => `-X k8s.io/component-base/version.${set}`,
  )
  go(['mod', 'tidy'], {}, source)
  go(['build', JOBS, '-ldflags', ['-s', '-w', ...version].join(' '), '-o', join(folder, 'kubernetes'), '.'], {}, source)
  rmSync(source, { recursive: true })
}

function makeKwok(folder: string): void {
  const { Dir } = JSON.parse(go(['mod', 'download', '-json', `sigs.k8s.io/kwok@${KWOK}`])) as { Dir: string }
  const stages = globSync(STAGES, { cwd: Dir }).sort()
  writeFileSync(
    join(folder, 'stages.yaml'),
    stages.map((file) => readFileSync(join(Dir, file), 'utf8')).join('\n---\n'),
  )
  go(['install', JOBS, '-ldflags=-s -w', `sigs.k8s.io/kwok/cmd/kwok@${KWOK}`], { GOBIN: folder })
}

/** Away from any go.mod but that of the folder, and with the Go that is there. */
function go(args: readonly string[], env: Record<string, string> = {}, folder = TOOLS_FOLDER): string {
  return execFileSync('go', args, {
    cwd: folder,
    env: { ...process.env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'auto', ...env },
    encoding: 'utf8',
    // What it says of a failure goes into the error.
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 1 << 28,
  })
}

/** Of all files of a folder. */
function digest(folder: string): string {
  const hash = createHash('sha256')
  for (const file of globSync('*', { cwd: folder }).sort())
    hash.update(`${file}\n`).update(readFileSync(join(folder, file)))
  return hash.digest('hex').slice(0, 12)
}

if (import.meta.main) {
  try {
    installClusterTools(console.log)
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}
