import { isObject } from '../lib/json.ts'
import { each, type Json, maps, unescapeStep, without, withoutExtensions } from './json.ts'

/** Removes from an upstream's document what only the gateway needs: addresses, the upstream's security, unused parts. */

/** Cleans a path item, of the document or of a callback. */
export function cleanItem(item: Json): Json {
  return eachMap(without(item, 'servers'), cleanOperation)
}

function cleanOperation(operation: Json): Json {
  const { callbacks, responses, ...rest } = without(operation, 'servers', 'security')
  return {
    ...rest,
    ...(isObject(responses) && { responses: eachMap(withoutExtensions(responses), cleanResponse) }),
    ...(isObject(callbacks) && { callbacks: eachMap(callbacks, cleanCallback) }),
  }
}

export function cleanResponse(response: Json): Json {
  const { links, ...rest } = response
  return isObject(links) ? { ...rest, links: eachMap(links, cleanLink) } : rest
}

const cleanLink = (link: Json): Json => without(link, 'server')
const cleanCallback = (callback: Json): Json => eachMap(callback, cleanItem)

const CLEANED: Readonly<Record<string, (component: Json) => Json>> = {
  responses: cleanResponse,
  links: cleanLink,
  callbacks: cleanCallback,
  pathItems: cleanItem,
}

/** Cleans the components of a document. Security schemes are removed, because they are between the gateway and the upstream. */
export function cleanComponents(components: unknown): Json {
  const kinds = maps(components).filter(([kind]) => kind !== 'securitySchemes')
  return Object.fromEntries(
    kinds.map(([kind, all]) => [kind, eachMap(all, CLEANED[kind] ?? ((component) => component))]),
  )
}

function eachMap(map: Json, clean: (value: Json) => Json): Json {
  return each(map, (value) => (isObject(value) ? clean(value) : value))
}

/** Removes components without a reference, because only operations that are not let through have used them. */
export function pruned(document: Json): Json {
  const components = Object.fromEntries(maps(document.components))
  const used = new Set<string>()
  const waiting: unknown[] = [document.paths]
  while (waiting.length > 0) {
    for (const [kind, name] of namedIn(waiting.pop())) {
      const key = `${kind}/${name}`
      if (used.has(key)) continue
      used.add(key)
      waiting.push(components[kind]?.[name])
    }
  }
  const left = Object.entries(components).map(([kind, all]) => {
    const isKept = ([name]: [string, unknown]) => kind === 'securitySchemes' || used.has(`${kind}/${name}`)
    return [kind, Object.fromEntries(Object.entries(all).filter(isKept))] as const
  })
  return { ...document, components: Object.fromEntries(left.filter(([, all]) => Object.keys(all).length > 0)) }
}

const COMPONENT = /^#\/components\/([^/]+)\/([^/]+)/

/** The components that a value names. Beside `$ref` the mapping of a discriminator names schemas, by reference or by name. */
function* namedIn(value: unknown, isMapping = false): Generator<readonly [kind: string, name: string]> {
  if (typeof value === 'string') {
    const [, kind, name] = COMPONENT.exec(value) ?? []
    if (kind !== undefined && name !== undefined) yield [kind, unescapeStep(name)]
    else if (isMapping) yield ['schemas', value]
  } else if (Array.isArray(value)) {
    for (const item of value) yield* namedIn(item)
  } else if (isObject(value)) {
    for (const [key, member] of Object.entries(value)) yield* namedIn(member, isMapping || key === 'mapping')
  }
}
