import type { Config, OpenapiDocument, RouteConfig } from '../config/config.ts'
import { clientComponents } from '../contract/client.ts'
import { isObject } from '../lib/json.ts'
import { OPENAPI_VERSION } from '../lib/openapi.ts'
import { publicPaths, STATUS_PATHS, USAGE_PATH } from '../quota/own-paths.ts'
import { cleanComponents, pruned } from './clean.ts'
import { examplesOf } from './examples.ts'
import { documentOperation, ownResponses, statusOperation, usageOperation } from './gateway-responses.ts'
import { changed, type Json, list, maps, resolve, withoutExtensions } from './json.ts'
import { createRouteMap, readTemplate, writePath } from './matching.ts'
import { describe, undescribed } from './operation.ts'
import { type Items, Paths, pathOf } from './paths.ts'
import { asVersion31 } from './version-30.ts'
import { type WaysIn, waysIn } from './ways-in.ts'

export interface DocumentOptions {
  readonly config: Pick<
    Config,
    'routes' | 'unmatched' | 'quota' | 'timeZone' | 'upstream' | 'auth' | 'edge' | 'published' | 'errors'
  >
  /** The path of the page. The gateway itself responds there. */
  readonly path: string
  /** The document of the upstream; `null` if only the route map is known. */
  readonly upstream: OpenapiDocument | null
}

/** The methods of OpenAPI up to 3.1. The gateway refuses TRACE. */
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const
/** The methods that are shown for a rule of any method without an operation. */
const USUAL = ['get', 'post', 'put', 'patch', 'delete']

/**
 * The API as clients see it through the gateway, as OpenAPI 3.1. It has those operations of the upstream that the route map lets
 * through, each with its cost, its credentials and the responses of the gateway itself. It also has the rules without a known operation,
 * and the quota. It leaves out addresses of the upstream, and the credentials that the upstream requires from the gateway.
 */
export function gatewayDocument({ config, path, upstream: written }: DocumentOptions): Json {
  const upstream = written === null ? {} : (changed(asVersion31(written), withoutExtensions) as Json)
  const paths = new Paths(path, config.published)
  const examples = examplesOf(config)
  const ways = waysIn(config.auth)
  const own = ownResponses(config.errors, examples)
  const described = addDescribed({ paths, upstream, ways, own }, config)
  for (const route of config.routes) {
    const at = paths.standing(pathOf(route.segments))
    for (const method of methodsOf(route)) {
      const isKnown = described.has(keyOf(route, route.methods === '*' ? '*' : method))
      if (!isKnown) paths.add(at, method, undescribed(route, method, at, ways, own))
    }
  }
  for (const status of STATUS_PATHS) paths.addOwn(status, statusOperation(status, examples.status, ways.byDefault))
  paths.addOwn(USAGE_PATH, usageOperation(examples.usage, ways.byDefault))
  for (const document of publicPaths(config.published)) paths.addOwn(document, documentOperation(document, examples))
  return pruned(whole({ paths: paths.items, upstream, ways, own }, config))
}

/** Adds the operations of the upstream's document that the route map lets through. @returns the keys of their rules */
function addDescribed(
  { paths, upstream, ways, own }: Parts & { readonly paths: Paths },
  { routes, unmatched, upstream: { headers }, edge }: Options,
): Set<string> {
  const described = new Set<string>()
  const map = createRouteMap(routes, unmatched, edge.folding)
  const ours = [...headers.keys(), 'authorization', 'x-tollgate-user']
  const hidden = new Set([...ours.map((name) => `header ${name.toLowerCase()}`), ...ways.parameters])
  const base = basePath(upstream)
  for (const [template, raw] of Object.entries(isObject(upstream.paths) ? upstream.paths : {})) {
    if (!template.startsWith('/')) continue
    const item = resolve(upstream, raw)
    const placesOf = map.placesOf(readTemplate(base + template))
    for (const method of METHODS) {
      const operation = item[method]
      if (!isObject(operation)) continue
      for (const place of placesOf(method.toUpperCase())) {
        const made = describe({ upstream, item, operation, place, ways, hidden, own })
        const isAdded = paths.add(writePath(place.parts), method, made)
        if (isAdded) described.add(keyOf(place.access.route, method)).add(keyOf(place.access.route, '*'))
      }
    }
  }
  return described
}

type Options = DocumentOptions['config']

/** The parts of which a document is made. */
interface Parts {
  readonly upstream: Json
  readonly ways: WaysIn
  /** The gateway's own responses, by their names in the components. */
  readonly own: Readonly<Record<string, Json>>
}

function whole({ upstream, ways, own, paths }: Parts & { readonly paths: Items }, { quota, unmatched }: Options): Json {
  const info = isObject(upstream.info) ? upstream.info : {}
  const { externalDocs, jsonSchemaDialect, components } = upstream
  const about = unmatched.kind === 'refuse' ? `${ABOUT} ${OTHERS_REFUSED}` : ABOUT
  const words = [info.description, about].filter((text) => typeof text === 'string')
  const cleaned = cleanComponents(components)
  return {
    openapi: OPENAPI_VERSION,
    info: { title: 'Gateway', version: '1', ...info, description: words.join('\n\n') },
    ...(jsonSchemaDialect !== undefined && { jsonSchemaDialect }),
    servers: [{ url: '/' }],
    tags: tagsOf(upstream, paths),
    ...(externalDocs !== undefined && { externalDocs }),
    security: ways.byDefault,
    paths,
    components: {
      ...cleaned,
      schemas: { ...(cleaned.schemas as Json | undefined), ...clientComponents(quota) },
      responses: { ...(cleaned.responses as Json | undefined), ...own },
      securitySchemes: ways.schemes,
    },
  }
}

const ABOUT =
  'Requests go through Tollgate, which asks for a credential where an operation says so and counts what it costs against the quota of the caller. `GET /me/quota` tells what is left.'
/** An operation has one path and method, so the responses to other methods stand in this text. */
const OTHERS_REFUSED = 'It answers 405 to other methods of these paths, and 404 to other paths.'

/** The path that is common to all paths of the upstream, by its first server. */
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

function keyOf(route: RouteConfig | null, method: string): string {
  return `${method} ${route?.line ?? ''} ${route?.match ?? ''}`
}

function methodsOf({ methods }: RouteConfig): string[] {
  if (methods === '*') return USUAL
  return methods.map((method) => method.toLowerCase()).filter((method) => METHODS.some((known) => known === method))
}

function tagsOf(upstream: Json, paths: Items): unknown[] {
  const used = new Set(Object.values(paths).flatMap((item) => maps(item).flatMap(([, { tags }]) => list(tags))))
  return list(upstream.tags).filter((tag) => isObject(tag) && used.has(tag.name))
}
