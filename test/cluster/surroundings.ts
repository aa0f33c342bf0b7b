import type { Manifest } from '../deploy/rendering.ts'
import type { Api } from './api.ts'

/** What the examples in helm/ci lean on and do not bring: it is somebody else's in a cluster. */

/** The keys of each Secret; what they hold is read by nobody here. */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  'tollgate-admin': ['token'],
  'redis-credentials': ['url', 'password'],
  'redis-ca': ['ca.crt'],
  'partner-jwt': ['hs256'],
  'legacy-shared': ['secret'],
  'tollgate-more': ['MORE'],
  'tollgate-tls': ['tls.crt', 'tls.key'],
  'tollgate-admin-tls': ['tls.crt', 'tls.key', 'ca.crt'],
}
const CONFIG_MAPS: Readonly<Record<string, readonly string[]>> = { 'legacy-ca': ['ca.crt'] }
/** What controllers put into each namespace. */
const ALWAYS = ['serviceaccounts/default', 'configmaps/kube-root-ca.crt']

/** A namespace with Pod Security "restricted", enforced and warned of, that has what the examples name. */
export async function makeNamespace(api: Api, name: string): Promise<void> {
  const profile = {
    'pod-security.kubernetes.io/enforce': 'restricted',
    'pod-security.kubernetes.io/warn': 'restricted',
  }
  await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: profile } })
  const metadata = (own: string) => ({ name: own, namespace: name })
  const dataOf = (keys: readonly string[], text: string) => Object.fromEntries(keys.map((key) => [key, text]))
  const objects = [
    ...Object.entries(SECRETS).map(([own, keys]) => ({
      kind: 'Secret',
      metadata: metadata(own),
      data: dataOf(keys, btoa('0123456789abcdef')),
    })),
    ...Object.entries(CONFIG_MAPS).map(([own, keys]) => ({
      kind: 'ConfigMap',
      metadata: metadata(own),
      data: dataOf(keys, 'anything'),
    })),
    { kind: 'ServiceAccount', metadata: metadata('edge') },
  ]
  await Promise.all(objects.map((object) => api.apply({ apiVersion: 'v1', ...object })))
}

/** Whether controllers have put into a namespace what they put into each. */
export async function isComplete(api: Api, namespace: string): Promise<boolean> {
  const found = ALWAYS.map((path) => api.get(`/api/v1/namespaces/${namespace}/${path}`).then(Boolean, () => false))
  return (await Promise.all(found)).every(Boolean)
}

/** The storage class of the example with a volume. @param count how many volumes of it there are */
export function storage(count: number): Manifest[] {
  const storageClassName = 'fast'
  const volumes = Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `${storageClassName}-${index + 1}` },
    spec: {
      storageClassName,
      capacity: { storage: '5Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      // A folder that nobody mounts.
      hostPath: { path: `/nowhere/${index + 1}` },
    },
  }))
  const storageClass = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: storageClassName },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  }
  return [storageClass, ...volumes]
}
