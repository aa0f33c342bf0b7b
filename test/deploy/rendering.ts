import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { type Program, tool } from '../setup/deploy-tools.ts'

export const CHART = new URL('../../helm', import.meta.url).pathname
/** The programs print whole objects on failure. */
const MAX_OUTPUT = 64 * 1024 * 1024

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export async function run(program: Program, args: readonly string[]): Promise<Outcome> {
  const outcome = promisify(execFile)(tool(program), [...args], { maxBuffer: MAX_OUTPUT })
  return outcome.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Outcome) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
  )
}

/** Manifests as Helm renders them. @throws Error with what Helm says */
export async function render(chart: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run('helm', ['template', 'demo', chart, '--namespace', 'front', ...args])
  if (code !== 0) throw new Error(stderr)
  return stdout
}

/** The files of values in helm/ci, by the name of what they show. */
export const EXAMPLES: ReadonlyMap<string, string> = new Map(
  readdirSync(`${CHART}/ci`).map((file) => [basename(file, '-values.yaml'), `${CHART}/ci/${file}`]),
)

/** A manifest, as far as tests look into it. */
// biome-ignore lint/suspicious/noExplicitAny: Kubernetes has a type for each kind, and none of them is what is tested
export type Manifest = any

export function manifestsOf(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw new Error(document.errors.join('\n'))
    return document.toJS() ?? []
  })
}

/** What holds containers, in manifests of a kind that does. */
export function podSpecsOf(manifests: readonly Manifest[]): Manifest[] {
  return manifests.flatMap(({ kind, spec }) => {
    if (kind === 'Pod') return spec
    return ['Deployment', 'StatefulSet', 'DaemonSet'].includes(kind) ? spec.template.spec : []
  })
}

/** The gateway's container, wherever it is. */
export function gatewayOf(manifests: readonly Manifest[]): Manifest {
  const containers = podSpecsOf(manifests).flatMap(({ initContainers = [], containers = [] }) => [
    ...initContainers,
    ...containers,
  ])
  return containers.find(({ name }) => name === 'tollgate')
}

/**
 * The environment that the kubelet would give to the container. @param secrets what Secrets of others hold, by name and key
 */
export function environmentOf(
  manifests: readonly Manifest[],
  secrets: Readonly<Record<string, string>>,
): Record<string, string> {
  const ours = manifests.filter(({ kind }) => kind === 'Secret')
  const env: Record<string, string> = {}
  for (const { name, value, valueFrom } of gatewayOf(manifests).env) {
    if (valueFrom === undefined) {
      env[name] = value.replace(/\$\((\w+)\)/g, (whole: string, other: string) => env[other] ?? whole)
      continue
    }
    const { name: secret, key } = valueFrom.secretKeyRef
    const data = ours.find(({ metadata }) => metadata.name === secret)?.data[key]
    const found = data === undefined ? secrets[`${secret}/${key}`] : Buffer.from(data, 'base64').toString()
    if (found === undefined) throw new Error(`no secret ${secret}/${key}`)
    env[name] = found
  }
  return env
}
