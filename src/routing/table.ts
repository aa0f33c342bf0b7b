import { ANY_METHOD, type Claim, NO_RULE, type Node, pack } from './packed.ts'
import { canonicalLiteral } from './target.ts'

/** A part of a route pattern, between two slashes. */
export type Segment =
  /** Matches itself, letter case included. Escapes are compared in canonical form, so `caf%c3%a9` is `café`. */
  | { readonly kind: 'literal'; readonly text: string }
  /** `:name`: matches one segment that is not empty. */
  | { readonly kind: 'param'; readonly name: string }
  /** A last `*`: matches one or more remaining segments, so `/a/*` matches `/a/b`, `/a/b/c` and `/a/`, but not `/a`. */
  | { readonly kind: 'rest' }

/** What the table has to know of a rule; the rest of it is the caller's. */
export interface RoutePattern {
  /** As written in the configuration, for error messages. */
  readonly match: string
  /** In upper case, at least one; or any method. */
  readonly methods: readonly string[] | '*'
  /** One for each slash: `/` is one empty literal, and a trailing slash one more at the end. */
  readonly segments: readonly Segment[]
}

export interface RouteMatch<T> {
  readonly rule: T
}

/** The path is known, the method is not: what an `Allow` header lists. */
export interface MethodNotAllowed {
  readonly allow: readonly string[]
}

export interface RouteTable<T> {
  /**
   * The most specific rule for a request: segment by segment from the left, literal before `:name` before `*`, then a
   * named method before any. Where the more specific path lacks the method, the next one is tried. HEAD counts as GET
   * where no rule of that shape names it.
   *
   * @param path in the form that is matched, as `canonicalTarget` gives it
   * @returns `null` where no rule has such a path
   */
  lookup(method: string, path: string): RouteMatch<T> | MethodNotAllowed | null
}

/**
 * Compiles the rules; their order does not matter.
 *
 * @throws Error when two rules claim the same method of the same shape, or a `*` is not last
 */
export function createRouteTable<T extends RoutePattern>(rules: readonly T[]): RouteTable<T> {
  const find = pack(trieOf(rules))
  const methods = namedMethods(rules)

  function lookup(method: string, path: string): RouteMatch<T> | MethodNotAllowed | null {
    const number = find(method, path)
    return number === NO_RULE ? allowed(path) : { rule: rules[number] as T }
  }

  function allowed(path: string): MethodNotAllowed | null {
    const allow = methods.filter((method) => find(method, path) !== NO_RULE)
    return allow.length === 0 ? null : { allow }
  }
  return { lookup }
}

function namedMethods(rules: readonly RoutePattern[]): string[] {
  const named = rules.flatMap(({ methods }) => (methods === '*' ? [] : methods))
  return [...new Set(named.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))]
}

function trieOf(rules: readonly RoutePattern[]): Node {
  const root = newNode()
  const shapes = new Set<Claim[]>()
  for (const [number, rule] of rules.entries()) {
    const shape = shapeOf(root, rule)
    shapes.add(shape)
    for (const method of rule.methods === '*' ? [ANY_METHOD] : rule.methods) {
      const other = shape.find((claim) => claim.method === method)
      if (other) throw new Error(twoRules(method, rules[other.rule], rule))
      shape.push({ method, rule: number })
    }
  }
  for (const shape of shapes) order(shape)
  return root
}

function twoRules(method: string, ...rules: readonly (RoutePattern | undefined)[]): string {
  return `two rules for ${method} on one path: ${rules.map((rule) => `"${rule?.match}"`).join(' and ')}`
}

/** The claims of all rules of one path pattern. */
function shapeOf(root: Node, { match, segments }: RoutePattern): Claim[] {
  let node = root
  for (const [i, segment] of segments.entries()) {
    if (segment.kind === 'rest') {
      if (i < segments.length - 1) throw new Error(`"*" must be the last segment: "${match}"`)
      return node.rest
    }
    node = segment.kind === 'param' ? paramOf(node) : literalOf(node, canonicalLiteral(segment.text))
  }
  return node.end
}

function paramOf(node: Node): Node {
  node.param ??= newNode()
  return node.param
}

function literalOf(node: Node, text: string): Node {
  node.literals ??= new Map()
  const next = node.literals.get(text) ?? newNode()
  node.literals.set(text, next)
  return next
}

function newNode(): Node {
  return { literals: null, param: null, end: [], rest: [] }
}

/** Puts them in order: who has the method by name, HEAD as GET, any method. */
function order(shape: Claim[]): void {
  const [get, any] = ['GET', ANY_METHOD].map((method) => shape.find((claim) => claim.method === method))
  if (get !== undefined) shape.push({ method: 'HEAD', rule: get.rule })
  if (any !== undefined) shape.push(...shape.splice(shape.indexOf(any), 1))
}
