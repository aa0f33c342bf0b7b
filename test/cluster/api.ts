import { readFileSync } from 'node:fs'
import { Agent, request } from 'undici'
import type { Manifest } from '../deploy/rendering.ts'

/** What tests need to reach the API server. */
export interface Access {
  readonly server: string
  readonly token: string
  /** File with the certificates that are trusted. */
  readonly authority: string
  /** The same for kubectl and helm. */
  readonly kubeconfig: string
}

/** A kind of objects, as the API server lists them. */
export interface Resource {
  readonly kind: string
  readonly apiVersion: string
  /** In paths. */
  readonly name: string
  readonly isNamespaced: boolean
}

export interface Api {
  /** @throws ApiError */
  read(path: string): Promise<string>
  /** What is read, as JSON. @throws ApiError */
  get(path: string): Promise<Manifest>
  /** Makes an object, or makes it as it is said. @returns warnings of the server. @throws ApiError */
  apply(object: Manifest): Promise<string[]>
  /** @throws ApiError */
  remove(path: string): Promise<void>
  /** Kinds that can be listed, each once, in the version that the server prefers. It is asked for them once. */
  resources(): Promise<readonly Resource[]>
}

export class ApiError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Who applies, in `managedFields`. */
const MANAGER = 'tollgate-tests'

export function connectApi({ server, token, authority }: Omit<Access, 'kubeconfig'>): Api {
  const dispatcher = new Agent({ connect: { ca: readFileSync(authority) } })
  async function send(method: 'GET' | 'PATCH' | 'DELETE', path: string, body?: Manifest) {
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      ...(method === 'PATCH' && { 'content-type': 'application/apply-patch+yaml' }),
    }
    const sent = { method, headers, dispatcher, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const response = await request(`${server}${path}`, sent)
    const text = await response.body.text()
    if (response.statusCode >= 300) throw new ApiError(response.statusCode, `${method} ${path}: ${text}`)
    return { text, warnings: [response.headers.warning ?? []].flat() }
  }
  const read = async (path: string) => (await send('GET', path)).text
  const get = async (path: string): Promise<Manifest> => JSON.parse(await read(path))
  let known: Promise<Resource[]> | undefined
  const kinds = () => (known ??= resources(get))
  return {
    read,
    get,
    apply: async (object) => {
      const path = `${pathOf(object, await kinds())}?fieldManager=${MANAGER}&force=true`
      return (await send('PATCH', path, object)).warnings
    },
    remove: async (path) => void (await send('DELETE', path)),
    resources: kinds,
  }
}

async function resources(get: Api['get']): Promise<Resource[]> {
  const { groups } = await get('/apis')
  const versions = ['v1', ...groups.map(({ preferredVersion }: Manifest) => preferredVersion.groupVersion)]
  const lists = await Promise.all(versions.map((version) => get(rootOf(version))))
  return lists.flatMap(({ groupVersion, resources }) =>
    resources
      .filter(({ name, verbs }: Manifest) => verbs.includes('list') && !name.includes('/'))
      .map(({ kind, name, namespaced }: Manifest) => ({
        kind,
        apiVersion: groupVersion,
        name,
        isNamespaced: namespaced,
      })),
  )
}

/** Where the objects of a version of the API are. */
export function rootOf(apiVersion: string): string {
  return apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
}

function pathOf({ apiVersion, kind, metadata }: Manifest, known: readonly Resource[]): string {
  const resource = known.find((each) => each.kind === kind && each.apiVersion === apiVersion)
  if (resource === undefined) throw new Error(`the server has no ${kind} of ${apiVersion}`)
  const place = resource.isNamespaced ? `/namespaces/${metadata.namespace}` : ''
  return `${rootOf(apiVersion)}${place}/${resource.name}/${metadata.name}`
}
