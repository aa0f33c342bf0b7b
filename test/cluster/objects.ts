import { isDeepStrictEqual } from 'node:util'
import type { Manifest } from '../deploy/rendering.ts'
import { type Api, rootOf } from './api.ts'

/** Told and forgotten. */
const EVENT = 'Event'
/** Controllers make them of other objects, and say so with no owner. */
const DERIVED = ['Endpoints']
/** Helm's record of a revision. */
const RECORD = 'helm.sh/release.v1'
const REVISION = 'deployment.kubernetes.io/revision'

/** Objects by `Kind namespace/name`. */
export type Objects = ReadonlyMap<string, Manifest>

/** All that is in the namespaces, of whatever kind, but events. */
export async function objectsIn(api: Api, namespaces: readonly string[]): Promise<Objects> {
  const kinds = (await api.resources()).filter(({ kind, isNamespaced }) => isNamespaced && kind !== EVENT)
  const lists = kinds.flatMap(({ apiVersion, kind, name }) =>
    namespaces.map(async (namespace) => {
      const { items } = await api.get(`${rootOf(apiVersion)}/namespaces/${namespace}/${name}`)
      return items.map((item: Manifest) => [
        `${kind} ${namespace}/${item.metadata.name}`,
        { ...item, kind, apiVersion },
      ])
    }),
  )
  return new Map((await Promise.all(lists)).flat())
}

/** Those that somebody wrote: no controller made them, and they are no record of Helm. */
export function writtenOf(objects: Objects): Objects {
  return new Map(
    [...objects].filter(
      ([, { kind, type, metadata }]) =>
        !DERIVED.includes(kind) && type !== RECORD && metadata.ownerReferences === undefined,
    ),
  )
}

/** What is said in an object: neither what became of it, nor who said it when. */
export function saidIn({ status: _, metadata, ...rest }: Manifest): Manifest {
  const { uid, resourceVersion, creationTimestamp, generation, managedFields, annotations = {}, ...kept } = metadata
  const { [REVISION]: __, ...notes } = annotations
  return { ...rest, metadata: { ...kept, annotations: notes } }
}

/** How the second state differs from the first: `+ Kind namespace/name` is new, `-` is gone, `~` says something else. */
export function differences(before: Objects, after: Objects): string[] {
  const gone = [...before.keys()].filter((name) => !after.has(name)).map((name) => `- ${name}`)
  const fresh = [...after.keys()].filter((name) => !before.has(name)).map((name) => `+ ${name}`)
  const changed = [...after].flatMap(([name, object]) => {
    const other = before.get(name)
    return other === undefined || isDeepStrictEqual(saidIn(other), saidIn(object)) ? [] : `~ ${name}`
  })
  return [...gone, ...fresh, ...changed].sort()
}

/** Of a pod. */
export function isReady({ status }: Manifest): boolean {
  return status.conditions?.some((each: Manifest) => each.type === 'Ready' && each.status === 'True') ?? false
}

/** The kinds of volumes and variables that name objects. */
interface Reference {
  readonly kind: 'ConfigMap' | 'Secret' | 'PersistentVolumeClaim'
  readonly name: string
  /** None: the whole object. */
  readonly keys: readonly string[]
}

/**
 * What a new pod of this specification would wait for: objects or keys that it needs and the namespace does not have. The kubelet looks
 * for them when it starts the containers, long after the API server took the pod.
 */
export function missingFor(spec: Manifest, namespace: string, objects: Objects): string[] {
  return referencesOf(spec).flatMap(({ kind, name, keys }) => {
    const object = objects.get(`${kind} ${namespace}/${name}`)
    if (object === undefined) return `${kind} ${name}`
    return keys.filter((key) => object.data?.[key] === undefined).map((key) => `${kind} ${name}: ${key}`)
  })
}

function referencesOf({ volumes = [], initContainers = [], containers = [] }: Manifest): Reference[] {
  const all = [...initContainers, ...containers]
  return [
    ...volumes.flatMap(volumeReference),
    ...all.flatMap(({ env = [] }) => env.flatMap(({ valueFrom = {} }: Manifest) => variableReference(valueFrom))),
    ...all.flatMap(({ envFrom = [] }) => envFrom.flatMap(wholeReference)),
  ]
}

function volumeReference({ configMap, secret, persistentVolumeClaim: claim }: Manifest): Reference[] {
  const keysOf = ({ items = [] }: Manifest) => items.map(({ key }: Manifest) => key)
  if (claim !== undefined) return [{ kind: 'PersistentVolumeClaim', name: claim.claimName, keys: [] }]
  if (needed(configMap)) return [{ kind: 'ConfigMap', name: configMap.name, keys: keysOf(configMap) }]
  if (needed(secret)) return [{ kind: 'Secret', name: secret.secretName, keys: keysOf(secret) }]
  return []
}

function variableReference({ configMapKeyRef, secretKeyRef }: Manifest): Reference[] {
  if (needed(configMapKeyRef)) return [{ kind: 'ConfigMap', name: configMapKeyRef.name, keys: [configMapKeyRef.key] }]
  if (needed(secretKeyRef)) return [{ kind: 'Secret', name: secretKeyRef.name, keys: [secretKeyRef.key] }]
  return []
}

function wholeReference({ configMapRef, secretRef }: Manifest): Reference[] {
  if (needed(configMapRef)) return [{ kind: 'ConfigMap', name: configMapRef.name, keys: [] }]
  if (needed(secretRef)) return [{ kind: 'Secret', name: secretRef.name, keys: [] }]
  return []
}

const needed = (source: Manifest): boolean => source !== undefined && source.optional !== true
