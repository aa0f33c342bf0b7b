/** A JSON Schema as a list of keys with their possible values: of the configuration, and of bodies. */

/** The definition that may replace every value of the configuration, and is described once. */
const VARIABLE = '#/$defs/variable'

export interface Node {
  readonly description?: string
  readonly default?: unknown
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Node | boolean
  readonly items?: Node
  readonly anyOf?: readonly Node[]
  readonly $ref?: string
}

/** The schema with each definition in the places that refer to it, except for `VARIABLE`, which may stand everywhere. */
export function unfolded(value: unknown, definitions: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map((each) => unfolded(each, definitions))
  if (typeof value !== 'object' || value === null) return value
  const { $ref, ...own } = value as { readonly $ref?: string }
  if ($ref !== undefined && $ref !== VARIABLE) {
    return unfolded({ ...(definitions[$ref.split('/').at(-1) ?? ''] as object), ...own }, definitions)
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, unfolded(each, definitions)]))
}

export interface Key {
  /** As in `routes[].cost.values.NAME`: `[]` is each element of a list, `NAME` each name of a map. */
  readonly path: readonly string[]
  readonly node: Node
  readonly isRequired: boolean
}

/** All keys with those below them, in their order. */
export function keysOf(keys: readonly Key[]): Key[] {
  return keys.flatMap((key) => [key, ...keysOf(below(key.node, key.path))])
}

export function below(node: Node, path: readonly string[]): Key[] {
  const { properties = {}, required = [], additionalProperties, items, anyOf = [] } = node
  const own = Object.entries(properties).map(
    ([name, each]): Key => ({ path: [...path, name], node: each, isRequired: required.includes(name) }),
  )
  const named = typeof additionalProperties === 'object' ? below(additionalProperties, [...path, 'NAME']) : []
  const listed = items === undefined ? [] : below(items, [...path, '[]'])
  return eachOnce([[...own, ...named, ...listed], ...anyOf.map((each) => below(each, path))], path.length)
}

/**
 * The keys of alternatives, each once. A key may have the values of any alternative. A key of a map is required if each alternative
 * that is a map requires it, and a key of a list if each alternative that is a list requires it.
 * @param depth of the part that has the alternatives
 */
function eachOnce(alternatives: readonly (readonly Key[])[], depth: number): Key[] {
  const isOfList = ({ path }: Key): boolean => path[depth] === '[]'
  const byName = Map.groupBy(alternatives.flat(), ({ path }) => nameOf(path))
  return [...byName.values()].map((keys): Key => {
    const [first] = keys as [Key]
    const { path, node } = first
    const alike = alternatives.filter((list) => list.some((key) => isOfList(key) === isOfList(first)))
    const others = new Map(keys.map((key) => [JSON.stringify(key.node), key.node]))
    const isRequired = keys.length === alike.length && keys.every((key) => key.isRequired)
    const either = {
      ...(node.description !== undefined && { description: node.description }),
      anyOf: [...others.values()],
    }
    return { path, node: others.size === 1 ? node : either, isRequired }
  })
}

export function nameOf(path: readonly string[]): string {
  return path.reduce((name, part) => (part === '[]' ? `${name}[]` : name === '' ? part : `${name}.${part}`), '')
}

/** The anchor of a heading, in the form of forges. */
export function linkTo(name: string): string {
  return `[\`${name}\`](#${name.replace(/[^\w-]/g, '').toLowerCase()})`
}

/** The possible values of a node, as a phrase. */
export function kindOf(node: Node): string {
  if (node.$ref !== undefined) return linkTo(node.$ref.split('/').at(-1) ?? '')
  const { anyOf, items, additionalProperties, properties } = node
  if (anyOf !== undefined) return [...new Set(anyOf.filter(({ $ref }) => $ref !== VARIABLE).map(kindOf))].join(' or ')
  if (node.enum !== undefined) return node.enum.map((value) => `\`${value}\``).join(', ')
  if (node.const !== undefined) return `\`${node.const}\``
  if (items !== undefined) return `list${bounds(node.minItems, node.maxItems, 'elements')} of ${several(kindOf(items))}`
  if (properties !== undefined) return 'map of the keys below'
  if (typeof additionalProperties === 'object') return `map of names, each with ${kindOf(additionalProperties)}`
  if (node.type === 'integer') return `whole number${bounds(node.minimum, node.maximum)}`
  if (node.type === 'number') return `number${bounds(node.minimum, node.maximum)}`
  return node.type === 'string' ? textOf(node) : String(node.type ?? 'any value')
}

function several(kind: string): string {
  return kind.startsWith('map') ? 'maps with the keys below' : kind
}

function textOf({ pattern = '', minLength = 0, maxLength }: Node): string {
  if (pattern.includes('(ms|s|m|h|d)')) return 'duration'
  if (pattern.includes('KiB')) return 'size'
  if (pattern.endsWith(')%$')) return 'percentage'
  return `text${maxLength === undefined || maxLength >= 2048 ? '' : bounds(minLength, maxLength, 'characters')}`
}

function bounds(least: number | undefined, most: number | undefined, of = ''): string {
  if (most === undefined || most >= Number.MAX_SAFE_INTEGER) return least === undefined ? '' : ` from ${least}`
  return ` (${least ?? 0} to ${most}${of === '' ? '' : ` ${of}`})`
}
