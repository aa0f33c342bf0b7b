/**
 * What the tests of the chart need and npm cannot bring: Go programs, and the schemas that they check against, in exact versions
 * and from the Go module proxy only. They are kept in $TOLLGATE_TOOLS, or ~/.cache/tollgate-tools. `node
 * test/setup/deploy-tools.ts` installs what is missing there, or of it the programs and `schemas` that it is given; with everything there
 * it needs no Go.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMadeOf, makeKubeSchemas } from './kube-schemas.ts'

const PROGRAMS = {
  helm: 'helm.sh/helm/v4/cmd/helm@v4.2.4',
  'kubectl-validate': 'sigs.k8s.io/kubectl-validate@v0.0.4',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0',
  'helm-unittest': 'github.com/helm-unittest/helm-unittest/cmd/helm-unittest@v1.0.0',
  'kube-linter': 'golang.stackrox.io/kube-linter/cmd/kube-linter@v0.8.3',
  actionlint: 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12',
  kustomize: 'sigs.k8s.io/kustomize/kustomize/v5@v5.8.1',
} as const

/** Where the module proxy has a module under another name than its own: `go install` refuses that, a module of ours may say it. */
const ELSEWHERE: Partial<Record<Program, string>> = {
  'kube-linter': 'golang.stackrox.io/kube-linter => github.com/stackrox/kube-linter',
}

/** The linker of helm alone takes a gigabyte: half of the cores leaves room for others. */
const JOBS = `-p=${Math.max(1, Math.ceil(availableParallelism() / 2))}`

/** Modules that hold schemas: of Kubernetes itself (within kubectl-validate), and of what others add to it. */
const SCHEMAS = {
  kubernetes: 'sigs.k8s.io/kubectl-validate@v0.0.4',
  prometheusOperator: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
  gatewayApi: 'sigs.k8s.io/gateway-api@v1.4.0',
} as const

export type Program = keyof typeof PROGRAMS

export const TOOLS_FOLDER = process.env.TOLLGATE_TOOLS || join(homedir(), '.cache', 'tollgate-tools')
export const SCHEMAS_FOLDER = join(TOOLS_FOLDER, 'schemas')

/** @returns the path of a program. @throws Error that says how to get it */
export function tool(program: Program): string {
  const path = join(TOOLS_FOLDER, program)
  if (!existsSync(path)) throw new Error(`${program} is not in ${TOOLS_FOLDER}: run node test/setup/deploy-tools.ts`)
  return path
}

/** Installs what is missing, or is of another version. @param wanted names; none for all. @param tell is given a line for each */
function installTools(wanted: readonly string[], tell: (line: string) => void): void {
  const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name)
  const hasGo = spawnSync('go', ['version']).status === 0
  const programs = (Object.keys(PROGRAMS) as Program[]).filter(isWanted).filter((program) => !isThere(program, hasGo))
  const needsSchemas = isWanted('schemas') && !isMadeOf(SCHEMAS_FOLDER, Object.values(SCHEMAS))
  if (programs.length === 0 && !needsSchemas) return
  if (!hasGo) {
    const missing = [...programs, ...(needsSchemas ? ['schemas'] : [])].join(', ')
    throw new Error(
      `The tests of the chart need ${missing} in ${TOOLS_FOLDER}, which are built with Go: install Go 1.26.`,
    )
  }
  mkdirSync(TOOLS_FOLDER, { recursive: true })
  for (const program of programs) timed(tell, program, () => install(program))
  if (needsSchemas) timed(tell, 'schemas', makeSchemas)
}

/** Where there is no Go, what is there is taken as it is. */
function isThere(program: Program, hasGo: boolean): boolean {
  const path = join(TOOLS_FOLDER, program)
  if (!existsSync(path) || !hasGo) return existsSync(path)
  const { stdout } = spawnSync('go', ['version', '-m', path], { encoding: 'utf8' })
  return /\tmod\t\S+\t(\S+)/.exec(stdout)?.[1] === PROGRAMS[program].split('@')[1]
}

function install(program: Program): void {
  const replacement = ELSEWHERE[program]
  if (replacement === undefined) go(['install', JOBS, PROGRAMS[program]], { GOBIN: TOOLS_FOLDER })
  else buildReplaced(program, replacement)
}

function buildReplaced(program: Program, replacement: string): void {
  const [path = '', version = ''] = PROGRAMS[program].split('@')
  const module = replacement.split(' ')[0]
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${program}-`))
  // Without the line of the language every module of every module would be read, for many minutes.
  const requirement = `go 1.24.0\nrequire ${module} ${version}`
  try {
    writeFileSync(join(folder, 'go.mod'), `module tools\n${requirement}\nreplace ${replacement} ${version}\n`)
    writeFileSync(join(folder, 'tools.go'), `//go:build tools\n\npackage tools\n\nimport _ "${path}"\n`)
    go(['mod', 'tidy'], {}, folder)
    go(['build', JOBS, '-o', join(TOOLS_FOLDER, program), path], {}, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function makeSchemas(): void {
  const folders = Object.fromEntries(Object.entries(SCHEMAS).map(([name, module]) => [name, folderOf(module)]))
  rmSync(SCHEMAS_FOLDER, { recursive: true, force: true })
  makeKubeSchemas(SCHEMAS_FOLDER, Object.values(SCHEMAS), {
    openapi: join(folders.kubernetes ?? '', 'pkg/openapiclient/builtins/1.30'),
    crds: [
      join(folders.prometheusOperator ?? '', 'example/prometheus-operator-crd'),
      join(folders.gatewayApi ?? '', 'config/crd/standard'),
    ],
  })
}

function folderOf(module: string): string {
  return (JSON.parse(go(['mod', 'download', '-json', module])) as { Dir: string }).Dir
}

/** Away from any go.mod but that of the folder, and with the Go that is there. */
function go(args: readonly string[], env: Record<string, string> = {}, folder = TOOLS_FOLDER): string {
  return execFileSync('go', args, {
    cwd: folder,
    env: { ...process.env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'auto', ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function timed(tell: (line: string) => void, what: string, work: () => void): void {
  const start = performance.now()
  work()
  tell(`${what}: ${((performance.now() - start) / 1000).toFixed(0)} s`)
}

if (import.meta.main) {
  try {
    installTools(process.argv.slice(2), console.log)
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}
