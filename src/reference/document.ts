import type { Config, Cost, OpenapiDocument, RouteConfig, Segment } from '../config/config.ts'
import { isObject } from '../lib/json.ts'
import { valueOfKey } from '../lib/json-scalar.ts'
import { OPENAPI_VERSION, pathParameter } from '../lib/openapi.ts'
import { STATUS_PATHS } from '../quota/status.ts'
import { canonicalLiteral } from '../routing/target.ts'
import {
  OF_FORWARDED,
  type OwnStatus,
  RESPONSE_NAMES,
  RESPONSES,
  responseRef,
  responseSchemas,
  SECURITY_SCHEME,
  statusOperation,
} from './answers.ts'
import { cleanComponents, cleanItem, cleanResponse, pruned } from './clean.ts'
import { type Json, list, maps, resolve, without, withoutExtensions } from './json.ts'
import { type Access, createRouteMap, type Part, type Place, readTemplate, writePath } from './matching.ts'
import { asVersion31 } from './version-30.ts'

export interface DocumentOptions {
  readonly config: Pick<Config, 'routes' | 'unmatched' | 'quota' | 'upstream' | 'auth' | 'edge'>
  /** Where the page is; the gateway answers there itself. */
  readonly path: string
  /** Of the upstream; `null` where nothing is known of it but the route map. */
  readonly upstream: OpenapiDocument | null
}

/** Of the OpenAPI versions up to 3.1. TRACE is refused at the gateway. */
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const
/** Shown for a rule of any method that no operation describes. */
const USUAL = ['get', 'post', 'put', 'patch', 'delete']

/**
 * The API as clients see it through the gateway, as OpenAPI 3.1: of the upstream's operations those that the route map lets
 * through, with what they cost, who may send them and how the gateway itself responds; rules that describe nothing known; and the quota.
 * Addresses of the upstream and what it asks of the gateway are left out.
 */
export function gatewayDocument({ config, path, upstream: written }: DocumentOptions): Json {
  const upstream = written === null ? {} : asVersion31(written)
  const paths = new Paths(path)
  const described = addDescribed(paths, upstream, config)
  for (const route of config.routes) {
    const at = paths.standing(pathOf(route.segments))
    for (const method of methodsOf(route)) {
      const isKnown = described.has(keyOf(route, route.methods === '*' ? '*' : method))
      if (!isKnown) paths.add(at, method, undescribed(route, method, at))
    }
  }
  const { categories, windows } = config.quota
  for (const own of STATUS_PATHS) paths.addOwn(own, statusOperation('getQuota', { categories, windows }))
  return pruned(whole(upstream, config, paths.items))
}

/** Adds what the upstream's document describes and the route map lets through. @returns the keys of the rules it describes */
function addDescribed(
  paths: Paths,
  upstream: Json,
  { routes, unmatched, upstream: { headers }, edge }: Options,
): Set<string> {
  const described = new Set<string>()
  const map = createRouteMap(routes, unmatched, edge.folding)
  const hidden = new Set([...headers.keys(), 'authorization', 'x-tollgate-user'])
  const base = basePath(upstream)
  for (const [template, raw] of Object.entries(isObject(upstream.paths) ? upstream.paths : {})) {
    if (!template.startsWith('/')) continue
    const item = resolve(upstream, raw)
    const placesOf = map.placesOf(readTemplate(base + template))
    for (const method of METHODS) {
      const operation = item[method]
      if (!isObject(operation)) continue
      for (const place of placesOf(method.toUpperCase())) {
        const made = describe({ upstream, item, operation, place, hidden })
        const isAdded = paths.add(writePath(place.parts), method, made)
        if (isAdded) described.add(keyOf(place.access.route, method)).add(keyOf(place.access.route, '*'))
      }
    }
  }
  return described
}

type Options = DocumentOptions['config']
type Items = Record<string, Record<string, unknown>>

/** The paths of a document while it is made, with what keeps them apart. */
class Paths {
  readonly items: Items = {}
  readonly #page: string
  readonly #firstOfShape = new Map<string, string>()
  readonly #ids = new Set<string>()

  /** @param page where the page is: the gateway answers there itself */
  constructor(page: string) {
    this.#page = page
  }

  /**
   * The first operation of a path and method stands.
   * @returns false for what the gateway answers itself
   */
  add(path: string, method: string, operation: Json): boolean {
    if (isOwn(method, path, this.#page)) return false
    this.#set(this.standing(path), method, operation)
    return true
  }

  /** What the gateway answers itself. */
  addOwn(path: string, operation: Json): void {
    this.#set(path, 'get', operation)
  }

  #set(path: string, method: string, operation: Json): void {
    const item = this.items[path] ?? {}
    item[method] ??= this.#withOwnId(operation)
    this.items[path] = item
  }

  /** Templates that differ only in the names of their parameters are one path to OpenAPI: the first one stands. */
  standing(path: string): string {
    const shape = path.replace(/\{[^{}]*\}/g, '{}')
    const first = this.#firstOfShape.get(shape) ?? path
    this.#firstOfShape.set(shape, first)
    return first
  }

  /** An operation that stands at several paths has its own id at each. */
  #withOwnId(operation: Json): Json {
    const { operationId } = operation
    if (typeof operationId !== 'string') return operation
    let id = operationId
    for (let n = 2; this.#ids.has(id); n++) id = `${operationId}_${n}`
    this.#ids.add(id)
    return { ...operation, operationId: id }
  }
}

function whole(upstream: Json, { quota, auth, unmatched }: DocumentOptions['config'], paths: Items): Json {
  const info = isObject(upstream.info) ? withoutExtensions(upstream.info) : {}
  const { externalDocs, jsonSchemaDialect, components } = upstream
  const about = unmatched.kind === 'refuse' ? `${ABOUT} ${OTHERS_REFUSED}` : ABOUT
  const words = [info.description, about].filter((text) => typeof text === 'string')
  const { categories, windows } = quota
  const cleaned = cleanComponents(components)
  return {
    openapi: OPENAPI_VERSION,
    info: { title: 'Gateway', version: '1', ...info, description: words.join('\n\n') },
    ...(jsonSchemaDialect !== undefined && { jsonSchemaDialect }),
    servers: [{ url: '/' }],
    tags: tagsOf(upstream, paths),
    ...(externalDocs !== undefined && { externalDocs }),
    security: [{ [SECURITY_SCHEME]: [] }],
    paths,
    components: {
      ...cleaned,
      schemas: { ...(cleaned.schemas as Json | undefined), ...responseSchemas({ categories, windows }) },
      responses: {
        ...(cleaned.responses as Json | undefined),
        ...Object.fromEntries(Object.entries(RESPONSES).map(([status, response]) => [nameOf(status), response])),
      },
      securitySchemes: { [SECURITY_SCHEME]: { type: 'http', scheme: 'bearer', description: credentials(auth) } },
    },
  }
}

const nameOf = (status: string) => RESPONSE_NAMES[Number(status) as OwnStatus]

const ABOUT =
  'Requests go through Tollgate, which asks for a credential where an operation says so and counts what it costs against the quota of the caller. `GET /me/quota` tells what is left.'
/** An operation has a path and a method: no place for what others of them get. */
const OTHERS_REFUSED = 'It answers 405 to other methods of these paths, and 404 to other paths.'

function credentials({ jwt, gatewayTokens }: Config['auth']): string {
  const kinds = [...(jwt.length > 0 ? ['a JWT'] : []), ...(gatewayTokens ? ['a gateway token (`gw_…`)'] : [])]
  return `${kinds.join(' or ') || 'No credential is accepted'}.`.replace(/^a/, 'A')
}

/** The path that the upstream's paths are below of, as its first server says. */
function basePath(upstream: Json): string {
  const [server] = list(upstream.servers)
  if (!isObject(server) || typeof server.url !== 'string') return ''
  const variables = new Map(maps(server.variables).map(([name, { default: value }]) => [name, String(value)]))
  const url = URL.parse(
    server.url.replace(/\{([^{}]*)\}/g, (_all, name) => variables.get(name) ?? ''),
    'http://any',
  )
  return url?.pathname.replace(/\/+$/, '') ?? ''
}

function isOwn(method: string, at: string, page: string): boolean {
  if (method !== 'get' && method !== 'head') return false
  return STATUS_PATHS.has(at) || at === page || at.startsWith(`${page}/`)
}

function keyOf(route: RouteConfig | null, method: string): string {
  return `${method} ${route?.line ?? ''} ${route?.match ?? ''}`
}

interface Described {
  readonly upstream: Json
  readonly item: Json
  readonly operation: Json
  readonly place: Place
  readonly hidden: ReadonlySet<string>
}

function describe({ upstream, item, operation, place, hidden }: Described): Json {
  const parameters = parametersOf(upstream, item, operation, place.parts, hidden)
  const { post: cleaned } = cleanItem({ post: operation })
  const { description, responses, tags, ...rest } = without(cleaned as Json, 'parameters')
  return {
    ...rest,
    tags: list(tags).length > 0 ? tags : [titleOf(upstream)],
    ...(parameters.length > 0 && { parameters }),
    description: [description, priceText(place.access)].filter((text) => typeof text === 'string').join('\n\n'),
    security: securityOf(place.access),
    responses: withOwnResponses(upstream, isObject(responses) ? responses : {}, place.access),
    'x-tollgate': extensionOf(place.access),
  }
}

/** The group of operations that have none: pages show them under "default". */
function titleOf({ info }: Json): string {
  return isObject(info) && typeof info.title === 'string' ? info.title : 'Service'
}

/** Those of the path as well; without what the gateway says to the upstream, and without what the path fixes. */
function parametersOf(
  upstream: Json,
  item: Json,
  operation: Json,
  parts: readonly Part[],
  hidden: ReadonlySet<string>,
) {
  const byName = new Map<string, unknown>()
  for (const written of [...list(item.parameters), ...list(operation.parameters)]) {
    const { name, in: where } = resolve(upstream, written)
    byName.set(`${where} ${where === 'header' ? String(name).toLowerCase() : name}`, written)
  }
  const variables = variablesOf(writePath(parts))
  for (const key of byName.keys()) {
    const [where, name = ''] = [key.slice(0, key.indexOf(' ')), key.slice(key.indexOf(' ') + 1)]
    if (where === 'header' ? hidden.has(name) : where === 'path' && !variables.includes(name)) byName.delete(key)
  }
  const missing = variables.filter((name) => !byName.has(`path ${name}`))
  return [...byName.values(), ...missing.map((name) => pathParameter(name))]
}

function variablesOf(path: string): string[] {
  return [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name)
}

function securityOf({ charged }: Access) {
  return charged === null ? [] : [{ [SECURITY_SCHEME]: [] }]
}

function extensionOf({ route, charged }: Access): Json {
  const match = route === null ? {} : { match: route.match }
  if (charged === null) return { ...match, public: true }
  const { category, cost } = charged
  if (cost.kind === 'fixed') return { ...match, category, cost: cost.cost }
  return { ...match, category, cost: { body: cost.fields, values: Object.fromEntries(cost.values) } }
}

function priceText({ charged }: Access): string {
  if (charged === null) return '**Quota:** public, so it asks for no credential and costs nothing.'
  return `**Quota:** category \`${charged.category}\`, ${costText(charged.cost)}.`
}

function costText(cost: Cost): string {
  if (cost.kind === 'fixed') return `costs ${tokens(cost.cost)}`
  const values = [...cost.values].map(([value, amount]) => `\`${value}\` costs ${tokens(amount)}`)
  return `by the field ${cost.fields.map((field) => `\`${field}\``).join(' or ')} of the body: ${values.join(', ')}`
}

const tokens = (cost: number) => (cost === 1 ? '1 token' : `${cost} tokens`)

function ownStatuses({ charged }: Access): OwnStatus[] {
  return charged === null ? [...OF_FORWARDED] : [...OF_FORWARDED, 401]
}

function withOwnResponses(upstream: Json, responses: Json, access: Access): Json {
  const own = ownStatuses(access).map((status) => {
    const theirs = theirResponse(responses, status)
    return [
      status,
      theirs === undefined ? responseRef(status) : eitherResponse(status, cleanResponse(resolve(upstream, theirs))),
    ]
  })
  return { ...responses, ...Object.fromEntries(own) }
}

/** What they say of a status by itself goes before what they say of its class, and that before what they say of all. */
function theirResponse(responses: Json, status: OwnStatus): unknown {
  return responses[status] ?? responses[`${Math.floor(status / 100)}XX`] ?? responses.default
}

/** An answer of one status may be of either. */
function eitherResponse(status: OwnStatus, theirs: Json): Json {
  const ours = RESPONSES[status]
  const content = Object.fromEntries(maps(theirs.content))
  const mine = Object.fromEntries(maps(ours.content))
  const type = 'application/json'
  const schemas = [mine[type]?.schema, content[type]?.schema].filter((schema) => schema !== undefined)
  return {
    ...theirs,
    description: `${ours.description} Or, of the service: ${theirs.description ?? ''}`,
    headers: { ...Object.fromEntries(maps(theirs.headers)), ...Object.fromEntries(maps(ours.headers)) },
    content: {
      ...content,
      ...mine,
      [type]: { ...content[type], schema: schemas.length > 1 ? { anyOf: schemas } : schemas[0] },
    },
  }
}

const OTHERS = 'Other routes'

function methodsOf({ methods }: RouteConfig): string[] {
  if (methods === '*') return USUAL
  return methods.map((method) => method.toLowerCase()).filter((method) => METHODS.some((known) => known === method))
}

function undescribed(route: RouteConfig, method: string, at: string): Json {
  const access: Access = { route, charged: route.public ? null : route }
  const parameters = variablesOf(at).map((name) =>
    pathParameter(name, name === restName(route.segments) ? REST_TEXT : undefined),
  )
  return {
    tags: [OTHERS],
    summary: route.match,
    description: priceText(access),
    ...(parameters.length > 0 && { parameters }),
    ...(method.startsWith('p') && { requestBody: { content: { 'application/json': bodyOf(access) } } }),
    security: securityOf(access),
    responses: { default: { description: 'Whatever the service answers.' }, ...withOwnResponses({}, {}, access) },
    'x-tollgate': extensionOf(access),
  }
}

function pathOf(segments: readonly Segment[]): string {
  return segments
    .map((segment) => {
      if (segment.kind === 'rest') return `/{${restName(segments)}}`
      return segment.kind === 'param' ? `/{${segment.name}}` : `/${canonicalLiteral(segment.text)}`
    })
    .join('')
}

/** Nothing is known of a body but what it is priced by. */
function bodyOf({ charged }: Access): Json {
  if (charged === null || charged.cost.kind === 'fixed') return { schema: {} }
  const [field = ''] = charged.cost.fields
  const values = [...charged.cost.values.keys()].map(valueOfKey)
  return { schema: { type: 'object', properties: { [field]: { examples: values } } }, example: { [field]: values[0] } }
}

const REST_TEXT = 'One or more segments: all that follows.'

function restName(segments: readonly Segment[]): string {
  const isTaken = segments.some((segment) => segment.kind === 'param' && segment.name === 'rest')
  return isTaken ? '_rest' : 'rest'
}

function tagsOf(upstream: Json, paths: Items): unknown[] {
  const used = new Set(Object.values(paths).flatMap((item) => maps(item).flatMap(([, { tags }]) => list(tags))))
  const known = list(upstream.tags).filter((tag) => isObject(tag) && used.has(tag.name))
  return known.map((tag) => withoutExtensions(tag as Json))
}
