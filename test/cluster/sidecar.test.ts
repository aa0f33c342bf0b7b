import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, expect, inject, test, vi } from 'vitest'
import { CHART, EXAMPLES, type Manifest } from '../deploy/rendering.ts'
import { tempFolder } from '../setup/at-end.ts'
import { connectApi } from './api.ts'
import { type Commands, commandsIn, warningsIn } from './commands.ts'
import { isReady, missingFor, objectsIn, saidIn } from './objects.ts'
import { isComplete, makeNamespace } from './surroundings.ts'

/** The sidecar in an application that exists, by the commands of helm/README.md, with Pod Security "restricted". */

const access = inject('cluster')
const api = connectApi(access)
const RELEASE = 'tollgate'
const VALUES = ['-f', EXAMPLES.get('sidecar-snippet') ?? '']
const LONG = { timeout: 900_000 }
const SOON = { timeout: 120_000, interval: 500 }

let folder: string

beforeAll(() => {
  folder = tempFolder()
})

test('the sidecar of an application is put in, changed and taken out by one command each', LONG, async () => {
  const { commands, namespace } = await enter('sidecar-life')
  const before = await application(namespace)

  await install(commands)
  await patch(commands, 'sidecar-snippet')
  expect(await sidecarOf(namespace)).toMatchObject({ restartPolicy: 'Always', ports: portsOf(8080, 9090) })
  expect(await waitedFor(namespace)).toEqual([])
  const once = await application(namespace)
  await patch(commands, 'sidecar-snippet')
  expect((await application(namespace)).metadata.generation).toBe(once.metadata.generation)

  const more = ['--set', 'containerPorts.http=18080', '--set-json', 'extraEnv=[{"name":"MORE","value":"of it"}]']
  await install(commands, ...more)
  await patch(commands, 'sidecar-snippet', ...more)
  expect((await sidecarOf(namespace)).ports).toEqual(portsOf(18080, 9090))
  expect((await sidecarOf(namespace)).env).toContainEqual({ name: 'MORE', value: 'of it' })

  await install(commands)
  await patch(commands, 'sidecar-snippet')
  expect(saidIn(await application(namespace))).toEqual(saidIn(once))

  await patch(commands, 'sidecar-remove', '--set-json', 'sidecar.workload.lifecycle={}')
  expect(saidIn(await application(namespace))).toEqual(saidIn(before))
  await commands.helm('uninstall', RELEASE)
  await startAnew(commands, namespace)
})

test(
  'the sidecar of an application still starts with its application after helm uninstall has come first',
  LONG,
  async () => {
    const { commands, namespace } = await enter('sidecar-uninstalled')
    const before = await application(namespace)
    await install(commands)
    await patch(commands, 'sidecar-snippet')

    await commands.helm('uninstall', RELEASE)
    expect(await sidecarOf(namespace)).toBeDefined()
    await startAnew(commands, namespace)

    await patch(commands, 'sidecar-remove')
    expect(written(await application(namespace))).toEqual(written(before))
    await commands.kubectl('delete', 'configmap,secret', RELEASE, '--ignore-not-found')
    await startAnew(commands, namespace)
  },
)

/** A namespace with an application that runs. */
async function enter(namespace: string) {
  await makeNamespace(api, namespace)
  await vi.waitFor(async () => expect(await isComplete(api, namespace)).toBe(true), SOON)
  expect(await api.apply(legacy(namespace))).toEqual([])
  const commands = commandsIn(access, namespace)
  await rolledOut(commands)
  return { namespace, commands }
}

function legacy(namespace: string): Manifest {
  const labels = { app: 'legacy' }
  const securityContext = {
    runAsNonRoot: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  }
  const container = (name: string) => ({
    name,
    image: 'legacy:1.0.0',
    securityContext,
    volumeMounts: [{ name: 'scratch', mountPath: '/tmp' }],
  })
  const spec = {
    initContainers: [container('migrate')],
    containers: [{ ...container('legacy'), env: [{ name: 'LISTEN', value: '127.0.0.1:9000' }] }],
    volumes: [{ name: 'scratch', emptyDir: {} }],
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'legacy', namespace },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }
}

/** Of the README; an upgrade where the release is there. */
async function install(commands: Commands, ...more: string[]): Promise<void> {
  const sidecar = ['--set', 'mode=sidecar', ...more]
  const output = await commands.helm('upgrade', RELEASE, CHART, '--install', ...VALUES, ...sidecar)
  expect(warningsIn(output)).toEqual([])
}

/** Of the README, until the pods are as the patch says. */
async function patch(commands: Commands, mode: string, ...more: string[]): Promise<void> {
  const { stdout } = await commands.hurriedHelm('template', RELEASE, CHART, ...VALUES, '--set', `mode=${mode}`, ...more)
  const file = join(mkdtempSync(join(folder, 'patch-')), 'patch.yaml')
  writeFileSync(file, stdout)
  const output = await commands.kubectl('patch', 'deployment', 'legacy', '--patch-file', file)
  expect(warningsIn(output)).toEqual([])
  await rolledOut(commands)
}

async function rolledOut(commands: Commands): Promise<void> {
  await commands.kubectl('rollout', 'status', 'deployment/legacy', '--timeout', '5m')
}

const application = (namespace: string): Promise<Manifest> =>
  api.get(`/apis/apps/v1/namespaces/${namespace}/deployments/legacy`)

/** The application, but for the empty `lifecycle` that stays where the values do not say that it had none. */
function written(deployment: Manifest): Manifest {
  const said = saidIn(deployment)
  for (const container of said.spec.template.spec.containers) {
    if (isDeepStrictEqual(container.lifecycle, {})) delete container.lifecycle
  }
  return said
}

async function sidecarOf(namespace: string): Promise<Manifest> {
  const { initContainers } = (await application(namespace)).spec.template.spec
  return initContainers.find(({ name }: Manifest) => name === 'tollgate')
}

const portsOf = (http: number, admin: number) => [
  { name: 'tollgate', containerPort: http, protocol: 'TCP' },
  { name: 'tollgate-admin', containerPort: admin, protocol: 'TCP' },
]

/** What a new pod of the application would wait for. */
async function waitedFor(namespace: string): Promise<string[]> {
  const { spec } = (await application(namespace)).spec.template
  return missingFor(spec, namespace, await objectsIn(api, [namespace]))
}

/** All pods of the application again, as after a drain of their nodes. */
async function startAnew(commands: Commands, namespace: string): Promise<void> {
  const old = await pods(namespace)
  await commands.kubectl('delete', 'pods', '--selector', 'app=legacy')
  expect(await waitedFor(namespace)).toEqual([])
  await vi.waitFor(async () => {
    const fresh = await pods(namespace)
    expect(fresh.filter(isReady)).toHaveLength(old.length)
    expect(fresh.filter(({ metadata }) => old.some((pod) => pod.metadata.uid === metadata.uid))).toEqual([])
  }, SOON)
}

async function pods(namespace: string): Promise<Manifest[]> {
  return (await api.get(`/api/v1/namespaces/${namespace}/pods`)).items
}
