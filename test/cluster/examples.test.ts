import { beforeAll, expect, inject, test, vi } from 'vitest'
import { CHART, EXAMPLES, type Manifest, manifestsOf, render } from '../deploy/rendering.ts'
import { type Api, connectApi } from './api.ts'
import { type Commands, commandsIn, keptBy, type Output, warningsIn } from './commands.ts'
import { differences, isReady, missingFor, type Objects, objectsIn, writtenOf } from './objects.ts'
import { isComplete, makeNamespace, storage } from './surroundings.ts'

/** Each example in a namespace of its own, with Pod Security "restricted", from `helm install` to `helm uninstall`. */

const access = inject('cluster')
const RELEASE = 'tollgate'
/** The patches are no objects of their own: `sidecar.test.ts` has them. */
const INSTALLED = [...EXAMPLES].filter(([name]) => !/^sidecar-(?:snippet|remove)$/.test(name))
/** What outlives its release, as helm/README.md says: a volume, and what pods with the sidecar need to start. */
const KEPT: Readonly<Record<string, string>> = { embedded: 'PersistentVolumeClaim', sidecar: 'ConfigMap' }
/** Each step of Helm may wait for minutes on a slow machine. */
const LONG = { timeout: 900_000 }
const SOON = { timeout: 120_000, interval: 500 }

let api: Api

beforeAll(async () => {
  api = connectApi(access)
  for (const object of storage(2)) await api.apply(object)
})

test(
  'what lies around the examples refuses pods that are not "restricted", and Helm prints the warning of the API server',
  LONG,
  async () => {
    const { commands } = await enter('refused')
    const [, minimal = ''] = INSTALLED.find(([name]) => name === 'minimal') ?? []
    const loose = ['--set', 'securityContext.allowPrivilegeEscalation=true']
    const output = await commands.hurriedHelm('install', RELEASE, CHART, '-f', minimal, ...loose)
    expect(warningsIn(output).join('\n')).toContain('would violate PodSecurity')
    const told = 'violates PodSecurity "restricted:latest"'
    await vi.waitFor(async () => expect(await reasonOfNoPods('refused')).toContain(told), SOON)
  },
)

test.concurrent.for(INSTALLED)(
  'an example of helm/ci is installed, upgraded, rolled back and uninstalled with no warning, and leaves what it says: %s',
  LONG,
  async ([name, values]) => {
    const { commands, namespaces, namespace } = await enter(`example-${name}`, await othersOf(values))
    const outputs: Output[] = []
    const helm = async (...args: Parameters<Commands['helm']>) => {
      const output = await commands.helm(...args)
      outputs.push(output)
      return output
    }
    const written = async () => writtenOf(await objectsIn(api, namespaces))
    const before = await objectsIn(api, namespaces)

    await helm('install', RELEASE, CHART, '-f', values)
    await vi.waitFor(async () => expect(await unscaled(namespace)).toEqual([]), SOON)
    const installed = await objectsIn(api, namespaces)
    expect(ready(installed)).toEqual(wanted(installed))
    expect(missing(installed, namespace)).toEqual([])

    await helm('upgrade', RELEASE, CHART, '-f', values, '--set', 'commonLabels.turn=second')
    expect(turns(await written())).toEqual(new Set(['second']))
    await helm('rollback', RELEASE, '1')
    await vi.waitFor(async () => expect(differences(writtenOf(installed), await written())).toEqual([]), SOON)

    const kept = keptBy(await helm('uninstall', RELEASE), namespace)
    expect(kept).toEqual(name in KEPT ? [`${KEPT[name]} ${namespace}/${RELEASE}`] : [])
    const left = kept.map((object) => `+ ${object}`)
    await vi.waitFor(async () => expect(differences(before, await objectsIn(api, namespaces))).toEqual(left), SOON)
    expect(outputs.flatMap(warningsIn)).toEqual([])
  },
)

test(
  'the claim of the embedded store outlives helm uninstall with its volume, and is taken by the next release of the name',
  LONG,
  async () => {
    const { commands, namespace } = await enter('claim')
    const install = ['install', RELEASE, CHART, '-f', EXAMPLES.get('embedded') ?? ''] as const
    const claim = async () => await api.get(`/api/v1/namespaces/${namespace}/persistentvolumeclaims/${RELEASE}`)
    await commands.helm(...install)
    const first = await claim()
    await commands.helm('uninstall', RELEASE)
    expect(await claim()).toMatchObject({ metadata: { uid: first.metadata.uid }, status: { phase: 'Bound' } })
    await commands.helm(...install)
    expect(await claim()).toMatchObject({
      metadata: { uid: first.metadata.uid },
      spec: { volumeName: first.spec.volumeName },
    })
  },
)

/** A namespace for one test, with others that its objects go to. */
async function enter(namespace: string, others: readonly string[] = []) {
  const namespaces = [namespace, ...others]
  for (const each of namespaces) await makeNamespace(api, each)
  for (const each of namespaces) await vi.waitFor(async () => expect(await isComplete(api, each)).toBe(true), SOON)
  return { namespace, namespaces, commands: commandsIn(access, namespace) }
}

/** Namespaces that the chart does not make and has objects for. */
async function othersOf(values: string): Promise<string[]> {
  const named = manifestsOf(await render(CHART, '-f', values)).map(({ metadata }) => metadata.namespace)
  return [...new Set(named)].filter((namespace) => namespace !== undefined && namespace !== 'front')
}

function ofKind(objects: Objects, kind: string): Manifest[] {
  return [...objects.values()].filter((object) => object.kind === kind)
}

/** Pods that are ready, and as many as the Deployments want. */
function ready(objects: Objects): number {
  return ofKind(objects, 'Pod').filter(isReady).length
}

function wanted(objects: Objects): number {
  return ofKind(objects, 'Deployment').reduce((sum, { spec }) => sum + spec.replicas, 0)
}

function missing(objects: Objects, namespace: string): string[] {
  return ofKind(objects, 'Deployment').flatMap(({ spec }) => missingFor(spec.template.spec, namespace, objects))
}

/** Autoscalers whose target exists and has not as many pods yet as they want at least. */
async function unscaled(namespace: string): Promise<string[]> {
  const objects = await objectsIn(api, [namespace])
  const deployments = ofKind(objects, 'Deployment')
  return ofKind(objects, 'HorizontalPodAutoscaler')
    .filter(({ spec }) => {
      const target = deployments.find(({ metadata }) => metadata.name === spec.scaleTargetRef.name)
      return target !== undefined && (target.status.readyReplicas ?? 0) < spec.minReplicas
    })
    .map(({ metadata }) => metadata.name)
}

/** What the objects of the chart say in a label that all of them get. Objects of the examples' own have none. */
function turns(objects: Objects): Set<string | undefined> {
  const labels = [...objects.values()].map(({ metadata }) => metadata.labels ?? {})
  return new Set(labels.filter((each) => 'helm.sh/chart' in each).map(({ turn }) => turn))
}

async function reasonOfNoPods(namespace: string): Promise<string> {
  const [set] = ofKind(await objectsIn(api, [namespace]), 'ReplicaSet')
  const conditions: Manifest[] = set?.status.conditions ?? []
  return conditions.map(({ message }) => message).join('\n')
}
