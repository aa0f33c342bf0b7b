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
   * @returns `null` if no rule has such a path
   */
  lookup(method: string, path: string): RouteMatch<T> | MethodNotAllowed | null
}

/** A node of a trie of path segments: what has been matched so far. */
interface Node<T> {
  /** By the text of the next segment, in the form of `Target.matched`. A map, since a path may hold `__proto__`. */
  readonly literals: Map<string, Node<T>>
  /** Behind any segment that is not empty. */
  param: Node<T> | null
  /** The rules of paths that end here. */
  readonly end: Shape<T>
  /** The rules of all paths that go on from here. */
  readonly rest: Shape<T>
}

/** The rules of one path pattern, by their methods. */
type Shape<T> = Map<string, RouteMatch<T>>

const ANY_METHOD = '*'

/**
 * Compiles the rules; their order does not matter.
 *
 * @throws Error when two rules claim the same method of the same shape, or a `*` is not last
 */
export function createRouteTable<T extends RoutePattern>(rules: readonly T[]): RouteTable<T> {
  const root = newNode<T>()
  for (const rule of rules) addRule(root, rule)
  const methods = namedMethods(rules)
  // The empty text before the first slash, the segments of the longest rule, and one more if the path has it.
  const most = rules.reduce((longest, { segments }) => Math.max(longest, segments.length), 0) + 2

  function lookup(method: string, path: string): RouteMatch<T> | MethodNotAllowed | null {
    const segments = path.split('/', most)
    return find(root, method, segments, 1) ?? allowed(segments)
  }

  function allowed(segments: readonly string[]): MethodNotAllowed | null {
    const allow = methods.filter((method) => find(root, method, segments, 1) !== null)
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
  const literal = node.literals.get(segment)
  const param = segment === '' ? null : node.param
  return (
    (literal === undefined ? null : find(literal, method, segments, at + 1)) ??
    (param === null ? null : find(param, method, segments, at + 1)) ??
    matchOf(node.rest, method)
  )
}

/** Who has the method by name, HEAD as GET, any method. */
function matchOf<T>(shape: Shape<T>, method: string): RouteMatch<T> | null {
  const named = shape.get(method) ?? (method === 'HEAD' ? shape.get('GET') : undefined)
  return named ?? shape.get(ANY_METHOD) ?? null
}

function addRule<T extends RoutePattern>(root: Node<T>, rule: T): void {
  const shape = shapeOf(root, rule)
  for (const method of rule.methods === '*' ? [ANY_METHOD] : rule.methods) {
    const other = shape.get(method)?.rule
    if (other) throw new Error(`two rules for ${method} on one path: "${other.match}" and "${rule.match}"`)
    shape.set(method, { rule })
  }
}

/** The rules of one path pattern. */
function shapeOf<T>(root: Node<T>, { match, segments }: RoutePattern): Shape<T> {
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

function paramOf<T>(node: Node<T>): Node<T> {
  node.param ??= newNode()
  return node.param
}

function literalOf<T>(node: Node<T>, text: string): Node<T> {
  const next = node.literals.get(text) ?? newNode<T>()
  node.literals.set(text, next)
  return next
}

function newNode<T>(): Node<T> {
  return { literals: new Map(), param: null, end: new Map(), rest: new Map() }
}
