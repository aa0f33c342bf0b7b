import { isObject } from '../lib/json.ts'

/** A document that others wrote: nothing is known of it before it is read. */
export type Json = { readonly [key: string]: unknown }

/** A map of maps. Its other members are left out. */
export function maps(value: unknown): [string, Json][] {
  return Object.entries(isObject(value) ? value : {}).filter((entry): entry is [string, Json] => isObject(entry[1]))
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function without(map: Json, ...keys: readonly string[]): Json {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)))
}

/** Extensions are for the tools of their authors, and often hold private addresses. */
export function withoutExtensions(map: Json): Json {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !key.startsWith('x-')))
}

/** Members that hold maps by names which the author of the document chose. */
const NAMED = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependentRequired', '$defs', 'definitions', 'mapping'],
  ...['schemas', 'responses', 'parameters', 'examples', 'requestBodies', 'headers', 'securitySchemes', 'links'],
  ...['callbacks', 'pathItems', 'paths', 'webhooks', 'content', 'encoding', 'variables', 'scopes'],
])
/** Members that hold values. */
const VALUES = new Set(['example', 'examples', 'default', 'enum', 'const', 'value'])

/** Changes each object of a document of OpenAPI, but no map by names and nothing within a value. */
export function changed(value: unknown, change: (object: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((item) => changed(item, change))
  if (!isObject(value)) return value
  return each(change(value), (member, key) => {
    if (NAMED.has(key) && isObject(member)) return each(member, (named) => changed(named, change))
    return VALUES.has(key) ? member : changed(member, change)
  })
}

export function each(map: Json, make: (value: unknown, key: string) => unknown): Json {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, make(value, key)]))
}

/** The target of a reference within the document, or the value itself. Any other reference gives an empty map. */
export function resolve(document: Json, value: unknown): Json {
  let found = value
  for (let hops = 0; hops < 10 && isObject(found) && typeof found.$ref === 'string'; hops++)
    found = follow(document, found.$ref)
  return isObject(found) && found.$ref === undefined ? found : {}
}

function follow(document: Json, ref: string): unknown {
  if (!ref.startsWith('#/')) return undefined
  const steps = ref.slice(2).split('/').map(unescapeStep)
  return steps.reduce<unknown>((at, step) => (isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined), document)
}

/** One step of a JSON Pointer in a URI fragment (RFC 6901, 6). */
export function unescapeStep(step: string): string {
  const text = /%(?![0-9A-Fa-f]{2})/.test(step) ? step : safeDecode(step)
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
