import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { CLUSTER_PROGRAMS } from '../setup/cluster-tools.ts'
import { tool } from '../setup/deploy-tools.ts'
import type { Access } from './api.ts'

/** How long Helm waits, in its own words: it is an error of the chart when it comes to that. */
const WAIT = ['--wait', '--timeout', '5m']
const MAX_OUTPUT = 16 * 1024 * 1024

/** What a command printed. */
export interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** The commands of a person who installs the chart, in one namespace. Each fails with what it printed. */
export interface Commands {
  /** Waits until what it did is so. */
  helm(command: 'install' | 'upgrade' | 'rollback' | 'uninstall', ...args: string[]): Promise<Output>
  /** Returns at once. */
  hurriedHelm(command: string, ...args: string[]): Promise<Output>
  kubectl(...args: string[]): Promise<Output>
}

export function commandsIn({ kubeconfig }: Access, namespace: string): Commands {
  const where = ['--kubeconfig', kubeconfig, '--namespace', namespace]
  const hurriedHelm = (command: string, ...args: string[]) => run(tool('helm'), [command, ...args, ...where])
  return {
    helm: (command, ...args) => hurriedHelm(command, ...args, ...WAIT),
    hurriedHelm,
    kubectl: (...args) => run(CLUSTER_PROGRAMS.kubectl, [...args, ...where]),
  }
}

async function run(program: string, args: readonly string[]): Promise<Output> {
  try {
    return await promisify(execFile)(program, [...args], { maxBuffer: MAX_OUTPUT })
  } catch (error) {
    const { stdout, stderr } = error as Output
    throw new Error(`${args.join(' ')}\n${stdout}${stderr}`, { cause: error })
  }
}

/** What the API server warned of: Helm prints it among what else it says. */
export function warningsIn({ stdout, stderr }: Output): string[] {
  return `${stdout}\n${stderr}`.split('\n').filter((line) => /warning|would violate/i.test(line))
}

/** Names of objects that Helm left, as it said at the end: `Kind namespace/name`. */
export function keptBy({ stdout, stderr }: Output, namespace: string): string[] {
  const lines = `${stdout}\n${stderr}`.matchAll(/\[(\w+)\] (\S+)/g)
  return [...lines].map(([, kind, name]) => `${kind} ${namespace}/${name}`)
}
