import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { CLUSTER_PROGRAMS, requireClusterPrograms } from '../setup/cluster-tools.ts'
import { SCHEMAS_FOLDER } from '../setup/deploy-tools.ts'
import { freePort } from '../setup/redis.ts'
import { type Access, type Api, connectApi } from './api.ts'
import { type Processes, startsProcesses } from './processes.ts'

/**
 * A Kubernetes of our own on the loopback: etcd, API server, controllers and scheduler are the real ones. Nodes and their pods are kwok's:
 * no container runs, a pod is ready once it has a node.
 */
export interface Cluster {
  readonly access: Access
  stop(): Promise<void>
}

/** How long the parts may take to serve; on a slow machine some of it. */
const LIMIT = 180_000
const PAUSE = 100
/** One in each zone. */
const NODES = ['node-1', 'node-2', 'node-3']

/** @throws Error with the end of the log of what does not start */
export async function startCluster(): Promise<Cluster> {
  requireClusterPrograms()
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-cluster-'))
  const processes = startsProcesses()
  const stop = async () => {
    await processes.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    return { access: await startParts(folder, processes), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startParts(folder: string, processes: Processes): Promise<Access> {
  const log = (name: string) => join(folder, `${name}.log`)
  const kubernetes = (name: string, args: Record<string, string | number | boolean>) =>
    processes.start(CLUSTER_PROGRAMS.kubernetes, [name, ...flags(args)], log(name))

  const store = await freePort()
  processes.start(CLUSTER_PROGRAMS.etcd, etcdFlags(folder, store, await freePort()), log('etcd'))
  const keyFile = writeKey(folder)
  const port = await freePort()
  const token = randomBytes(16).toString('hex')
  kubernetes('kube-apiserver', serverFlags(folder, { port, store, token, keyFile }))
  const access = writeAccess(folder, port, token)
  const api = await whenReady(access, processes)

  const client = { kubeconfig: access.kubeconfig, 'leader-elect': false, 'secure-port': 0 }
  kubernetes('kube-controller-manager', { ...client, ...controllerFlags(access, keyFile) })
  kubernetes('kube-scheduler', client)
  processes.start(CLUSTER_PROGRAMS.kwok, kwokFlags(access), log('kwok'))
  for (const object of [...definitions(), ...NODES.map(node)]) await api.apply(object)
  await until(
    processes,
    async () => (await readyNodes(api)) === NODES.length && (await hasDefinitions(connectApi(access))),
  )
  return access
}

function flags(args: Record<string, string | number | boolean>): string[] {
  return Object.entries(args).map(([name, value]) => `--${name}=${value}`)
}

function etcdFlags(folder: string, port: number, peerPort: number): string[] {
  const [clients, peers] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`]
  return flags({
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': clients,
    'advertise-client-urls': clients,
    'listen-peer-urls': peers,
    'initial-advertise-peer-urls': peers,
    'initial-cluster': `default=${peers}`,
  })
}

interface ServerOptions {
  readonly port: number
  readonly store: number
  readonly token: string
  readonly keyFile: string
}

function serverFlags(folder: string, { port, store, token, keyFile }: ServerOptions) {
  const tokens = join(folder, 'tokens.csv')
  writeFileSync(tokens, `${token},admin,1,system:masters\n`)
  return {
    'etcd-servers': `http://127.0.0.1:${store}`,
    'secure-port': port,
    'bind-address': '127.0.0.1',
    // Nobody connects to it; without one it looks for the way to the world.
    'advertise-address': '192.0.2.1',
    'endpoint-reconciler-type': 'none',
    'cert-dir': join(folder, 'certificates'),
    'token-auth-file': tokens,
    'authorization-mode': 'RBAC',
    'service-cluster-ip-range': '10.96.0.0/16',
    'service-account-issuer': 'https://kubernetes.test',
    'service-account-key-file': keyFile,
    'service-account-signing-key-file': keyFile,
  }
}

/** Metrics of pods there are none, so what is scaled is at its minimum: within a second, not within 15. */
function controllerFlags({ authority }: Access, keyFile: string) {
  return {
    'root-ca-file': authority,
    'service-account-private-key-file': keyFile,
    'horizontal-pod-autoscaler-sync-period': '1s',
    'pvclaimbinder-sync-period': '1s',
  }
}

function kwokFlags({ kubeconfig }: Access): string[] {
  return flags({
    kubeconfig,
    config: CLUSTER_PROGRAMS.stages,
    'manage-all-nodes': true,
    'node-port': 0,
    'node-lease-duration-seconds': 40,
  })
}

/** Signs the tokens of service accounts. */
function writeKey(folder: string): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const file = join(folder, 'service-accounts.key')
  writeFileSync(file, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  return file
}

function writeAccess(folder: string, port: number, token: string): Access {
  const server = `https://127.0.0.1:${port}`
  // Made by the server at its start; the authority that signed it stands behind it in the same file.
  const authority = join(folder, 'certificates', 'apiserver.crt')
  const kubeconfig = join(folder, 'kubeconfig')
  const [name, user] = ['test', 'admin']
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority': authority } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user } }],
    'current-context': name,
  }
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 })
  return { server, token, authority, kubeconfig }
}

/** Its certificate is there before it listens. */
async function whenReady(access: Access, processes: Processes): Promise<Api> {
  await until(processes, async () => (await connectApi(access).read('/readyz')) === 'ok')
  return connectApi(access)
}

/** Until it is so. What is thrown meanwhile is thrown at the end only. */
async function until(processes: Processes, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + LIMIT
  for (;;) {
    processes.check()
    const outcome = await isSo().catch((error: Error) => error)
    if (outcome === true) return
    if (performance.now() > end) throw new Error('the cluster did not start in time', { cause: outcome })
    await sleep(PAUSE)
  }
}

function node(name: string) {
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'topology.kubernetes.io/zone': `zone-of-${name}`,
  }
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } }
}

async function readyNodes(api: Api): Promise<number> {
  const { items } = await api.get('/api/v1/nodes')
  return items.filter(
    ({ spec, status }: { spec: { taints?: [] }; status: { conditions?: { type: string; status: string }[] } }) => {
      const isReady = status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True')
      return isReady === true && spec.taints === undefined
    },
  ).length
}

/** What others add to Kubernetes and the chart has objects of: monitors, rules, routes. */
function definitions() {
  const folder = join(SCHEMAS_FOLDER, 'crds')
  return readdirSync(folder).map((file) => parse(readFileSync(join(folder, file), 'utf8')))
}

async function hasDefinitions(api: Api): Promise<boolean> {
  const kinds = new Set((await api.resources()).map(({ kind }) => kind))
  return definitions().every(({ spec }) => kinds.has(spec.names.kind))
}
