import { EndedSessions } from '../../src/admin/ended-sessions.ts'
import { type AdminOptions, routesOf } from '../../src/admin/listener.ts'
import { Login } from '../../src/admin/login.ts'
import { parseConfig } from '../../src/config/load.ts'
import { decisionsDocument } from '../../src/decisions/openapi.ts'
import { gatewayDocument } from '../../src/reference/document.ts'
import type { Node } from './schema.ts'

/** The OpenAPI documents from which the references are made. */

export interface Content {
  readonly schema?: Node
  readonly example?: unknown
  readonly examples?: { readonly usual: { readonly summary?: string; readonly value: unknown } }
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Node
  readonly example?: string | number
}

export interface Response {
  readonly $ref?: string
  readonly description?: string
  readonly content?: Readonly<Record<string, Content>>
}

export interface Operation {
  readonly summary: string
  readonly description?: string
  /** Only in the admin API: the roles that may use the operation; missing if anybody may. */
  readonly 'x-roles'?: readonly string[]
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, Response>>
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Node>>
    readonly responses?: Readonly<Record<string, Response>>
  }
}

/** The document of the admin listener, made without a store: of its routes only the one that returns this document is called. */
export async function adminDocument(): Promise<Document> {
  const drain = { isOn: () => false, turn: () => {} }
  const options = { store: {}, metrics: {}, now: Date.now, version: '0', drain } as unknown as AdminOptions
  const routes = routesOf(
    options,
    new Login({ credentials: () => [], now: Date.now }),
    new EndedSessions(options.store, Date.now),
  )
  const call = { params: {}, query: {}, body: undefined, headers: {}, address: '', identity: null }
  const itself = routes.find(({ path }) => path === '/openapi.json')
  const response = await itself?.handle({ ...call, signal: new AbortController().signal })
  return plain(response?.body)
}

export function documentOfDecisions(): Document {
  return plain(decisionsDocument('0'))
}

const CONFIGURATION = `
upstream: { url: http://127.0.0.1:9000 }
time_zone: Etc/UTC
quota: { baselines: { personal: { read: { 1h: 120 } }, global: { read: { 1h: 12000 } } } }
routes: [{ match: GET /items, category: read, cost: 2 }]
public: { failure_rate: true, prices: true }
`

/** The document of a gateway with one category, one window and no description of its service. */
export function documentOfGateway(): Document {
  const loaded = parseConfig(CONFIGURATION, 'tollgate.yaml', {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return plain(gatewayDocument({ config: loaded.config, path: '/reference', upstream: null }))
}

function plain(document: unknown): Document {
  return JSON.parse(JSON.stringify(document))
}
