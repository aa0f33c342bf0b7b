import { type Cost, type MeterConfig, metersIn, type RouteConfig } from '../config/config.ts'
import { formatDuration, formatSize } from '../config/units.ts'
import { priceText as asText, shownPrice } from '../inputs/shown-price.ts'
import { isObject } from '../lib/json.ts'
import { pathOfNames } from '../lib/json-path.ts'
import { valueOfKey } from '../lib/json-scalar.ts'
import { pathParameter } from '../lib/openapi.ts'
import { cleanItem } from './clean.ts'
import { type Json, list, resolve, without } from './json.ts'
import { type Access, type Part, type Place, writePath } from './matching.ts'
import { withOwnResponses } from './own-responses.ts'
import { restName } from './paths.ts'
import type { WaysIn } from './ways-in.ts'

const OTHERS = 'Other routes'

const REST_TEXT = 'One or more segments: all that follows.'

export interface Described {
  readonly upstream: Json
  readonly item: Json
  readonly operation: Json
  readonly place: Place
  readonly ways: WaysIn
  /** Parameters that clients do not send, as `header NAME` in lower case, `query NAME` or `cookie NAME`. */
  readonly hidden: ReadonlySet<string>
  /** The gateway's own responses, by their names in the components. */
  readonly own: Json
}

/** An operation of the upstream's document, as clients see it at one place of the route map. */
export function describe({ upstream, item, operation, place, ways, hidden, own }: Described): Json {
  const parameters = parametersOf(upstream, item, operation, place.parts, hidden)
  const { post: cleaned } = cleanItem({ post: operation })
  const { description, responses, tags, ...rest } = without(cleaned as Json, 'parameters')
  return {
    ...rest,
    tags: list(tags).length > 0 ? tags : [titleOf(upstream)],
    ...(parameters.length > 0 && { parameters }),
    description: [description, priceText(place.access)].filter((text) => typeof text === 'string').join('\n\n'),
    security: ways.of(place.access),
    responses: withOwnResponses(upstream, isObject(responses) ? responses : {}, place.access, own),
    'x-tollgate': extensionOf(place.access),
  }
}

/** The group of operations without a tag, which pages would show under "default". */
function titleOf({ info }: Json): string {
  return isObject(info) && typeof info.title === 'string' ? info.title : 'Service'
}

/** The parameters of the operation and its path, without those that the gateway or the rule's path sets. */
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
    if (hidden.has(key) || (where === 'path' && !variables.includes(name))) byName.delete(key)
  }
  const missing = variables.filter((name) => !byName.has(`path ${name}`))
  return [...byName.values(), ...missing.map((name) => pathParameter(name))]
}

function variablesOf(path: string): string[] {
  return [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name)
}

function extensionOf({ route, charged }: Access): Json {
  const match = route === null ? {} : { match: route.match }
  if (charged === null) return { ...match, public: true }
  const { others } = charged
  return { ...match, ...meterOf(charged), ...(others !== null && { others: others.map(meterOf) }) }
}

function meterOf({ category, cost }: MeterConfig): Json {
  return { category, cost: shownPrice(cost) }
}

function priceText({ charged, route }: Access): string {
  if (charged === null) return '**Quota:** public, so it asks for no credential and costs nothing.'
  const meters = metersIn(charged)
  const costs = meters.map(({ category, cost }) => `category \`${category}\`, ${costText(cost)}`).join('; and ')
  return `**Quota:** ${costs}.${meters.length > 1 ? ALL_OR_NOTHING : ''}${settledText(meters)}${tunnelText(route)}${repetitionText(route?.idempotency ?? null)}`
}

function repetitionText(idempotency: RouteConfig['idempotency']): string {
  if (idempotency === null) return ''
  const { header, forMs, replays } = idempotency
  return ` If it comes again with the same \`${header}\` and body within ${formatDuration(forMs)}, that costs nothing, ${replays === 1 ? 'once' : `${replays} times`}.`
}

function tunnelText(route: RouteConfig | null): string {
  if (route?.tunnelChargeMs == null) return ''
  return ` A WebSocket costs that again every ${formatDuration(route.tunnelChargeMs)} while it is open.`
}

const ALL_OR_NOTHING = ' It is charged in all of them, or refused.'

function settledText(meters: readonly MeterConfig[]): string {
  const settled = meters.filter(({ settle }) => settle !== null)
  if (settled.length === 0) return ''
  const what =
    meters.length === 1 ? 'That' : `Of ${settled.map(({ category }) => `\`${category}\``).join(' and ')} that`
  return ` ${what} is reserved: what it costs is known by its response, and \`X-Tollgate-Charged\` has it if that is known when the response begins.${settled.map(({ settle }) => (settle === null ? '' : sumText(settle))).join('')}`
}

function sumText({ source, reading }: NonNullable<MeterConfig['settle']>): string {
  if (!('max' in reading)) return ''
  const most = `at most ${tokens(reading.max)}`
  if (source?.kind === 'size')
    return ` Each ${formatSize(source.per)} of the response that is begun costs 1 token, ${most}.`
  if (source?.kind !== 'json' || source.sum === null) return ''
  const members = source.sum.map(({ path, weight }) => `${weight} x \`${pathOfNames(path)}\``)
  return ` It costs ${members.join(' + ')} of the response, ${most}.`
}

function costText(cost: Cost): string {
  if (cost.kind === 'fixed') return `costs ${tokens(cost.cost)}`
  return `costs ${asText(shownPrice(cost))}`
}

const tokens = (cost: number) => (cost === 1 ? '1 token' : `${cost} tokens`)

/** An operation for a rule that no document describes. */
export function undescribed(route: RouteConfig, method: string, at: string, ways: WaysIn, own: Json): Json {
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
    security: ways.of(access),
    responses: { default: { description: 'The response of the service.' }, ...withOwnResponses({}, {}, access, own) },
    'x-tollgate': extensionOf(access),
  }
}

/** The only known part of a body is the one that its price depends on. */
function bodyOf({ charged }: Access): Json {
  for (const { cost } of charged === null ? [] : metersIn(charged)) {
    if (cost.kind === 'fixed' || cost.source.kind !== 'body' || cost.reading.kind !== 'values') continue
    const values = [...cost.reading.values.keys()].map(valueOfKey)
    const names = cost.source.path.map(([name = '']) => name)
    const schema = names.reduceRight<Json>((inner, name) => ({ type: 'object', properties: { [name]: inner } }), {
      examples: values,
    })
    return { schema, example: names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), values[0]) }
  }
  return { schema: {} }
}
