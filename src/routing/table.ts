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
   * @param segments in canonical form, as `canonicalTarget` gives them
   * @returns `null` where no rule has such a path
   */
  lookup(method: string, segments: readonly string[]): RouteMatch<T> | MethodNotAllowed | null
}

/** A place in the trie: what has been matched so far. */
interface Node<T> {
  /** A map, since a path may hold `__proto__`. `null` for none: a lookup that meets an empty one takes 0.2 us more. */
  literals: Map<string, Node<T>> | null
  param: Node<T> | null
  /** The rules of paths that end here. */
  end: Shape<T> | null
  /** The rules whose `*` starts here. */
  rest: Shape<T> | null
}

/** All rules of one path pattern. */
interface Shape<T> {
  readonly named: Map<string, RouteMatch<T>>
  any: RouteMatch<T> | null
}

/**
 * Compiles the rules; their order does not matter.
 *
 * @throws Error when two rules claim the same method of the same shape, or a `*` is not last
 */
export function createRouteTable<T extends RoutePattern>(rules: readonly T[]): RouteTable<T> {
  const root = newNode<T>()
  for (const rule of rules) addRule(root, rule)
  const methods = namedMethods(rules)

  function lookup(method: string, segments: readonly string[]): RouteMatch<T> | MethodNotAllowed | null {
    return find(root, method, segments, 0) ?? allowed(segments)
  }

  function allowed(segments: readonly string[]): MethodNotAllowed | null {
    const allow = methods.filter((method) => find(root, method, segments, 0) !== null)
    return allow.length === 0 ? null : { allow }
  }
  return { lookup }
}

function namedMethods(rules: readonly RoutePattern[]): string[] {
  const named = rules.flatMap(({ methods }) => (methods === '*' ? [] : methods))
  return [...new Set(named.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))]
}

function find<T>(node: Node<T>, method: string, segments: readonly string[], at: number): RouteMatch<T> | null {
  const segment = segments[at]
  if (segment === undefined) return matchOf(node.end, method)
  const literal = node.literals?.get(segment)
  const param = segment === '' ? null : node.param
  return (
    (literal === undefined ? null : find(literal, method, segments, at + 1)) ??
    (param === null ? null : find(param, method, segments, at + 1)) ??
    matchOf(node.rest, method)
  )
}

function matchOf<T>(shape: Shape<T> | null, method: string): RouteMatch<T> | null {
  if (shape === null) return null
  return shape.named.get(method) ?? (method === 'HEAD' ? shape.named.get('GET') : undefined) ?? shape.any
}

function addRule<T extends RoutePattern>(root: Node<T>, rule: T): void {
  const shape = shapeOf(root, rule)
  const match: RouteMatch<T> = { rule }
  for (const method of rule.methods === '*' ? ['*'] : rule.methods) {
    const other = method === '*' ? shape.any : shape.named.get(method)
    if (other) throw new Error(`two rules for ${method} on one path: "${other.rule.match}" and "${rule.match}"`)
    if (method === '*') shape.any = match
    else shape.named.set(method, match)
  }
}

function shapeOf<T extends RoutePattern>(root: Node<T>, { match, segments }: T): Shape<T> {
  let node = root
  for (const [i, segment] of segments.entries()) {
    if (segment.kind === 'rest') {
      if (i < segments.length - 1) throw new Error(`"*" must be the last segment: "${match}"`)
      node.rest ??= newShape()
      return node.rest
    }
    node = segment.kind === 'param' ? paramChild(node) : literalChild(node, canonicalLiteral(segment.text))
  }
  node.end ??= newShape()
  return node.end
}

function paramChild<T>(node: Node<T>): Node<T> {
  node.param ??= newNode()
  return node.param
}

function literalChild<T>(node: Node<T>, text: string): Node<T> {
  node.literals ??= new Map()
  const child = node.literals.get(text) ?? newNode<T>()
  node.literals.set(text, child)
  return child
}

function newNode<T>(): Node<T> {
  return { literals: null, param: null, end: null, rest: null }
}

function newShape<T>(): Shape<T> {
  return { named: new Map(), any: null }
}
