import { ANY_METHOD, type MethodRule, NO_RULE, pack, type TrieNode } from './packed-routes.ts'
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

/**
 * Compiles the rules; their order does not matter.
 *
 * @throws Error when two rules claim the same method of the same shape, or a `*` is not last
 */
export function createRouteTable<T extends RoutePattern>(rules: readonly T[]): RouteTable<T> {
  const find = pack(trieOf(rules), inOrder)
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

function trieOf(rules: readonly RoutePattern[]): TrieNode {
  const root = newNode()
  for (const [number, rule] of rules.entries()) {
    const shape = shapeOf(root, rule)
    for (const method of rule.methods === '*' ? [ANY_METHOD] : rule.methods) {
      const other = rules[shape.find((one) => one.method === method)?.rule ?? NO_RULE]
      if (other) throw new Error(`two rules for ${method} on one path: "${other.match}" and "${rule.match}"`)
      shape.push({ method, rule: number })
    }
  }
  return root
}

/** The rules of one path pattern. */
function shapeOf(root: TrieNode, { match, segments }: RoutePattern): MethodRule[] {
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

function paramOf(node: TrieNode): TrieNode {
  node.param ??= newNode()
  return node.param
}

function literalOf(node: TrieNode, text: string): TrieNode {
  node.literals ??= new Map()
  const next = node.literals.get(text) ?? newNode()
  node.literals.set(text, next)
  return next
}

function newNode(): TrieNode {
  return { literals: null, param: null, end: [], rest: [] }
}

/** Who has the method by name, HEAD as GET, any method. */
function inOrder(shape: readonly MethodRule[]): MethodRule[] {
  const named = shape.filter(({ method }) => method !== ANY_METHOD)
  const get = named.filter(({ method }) => method === 'GET').map(({ rule }) => ({ method: 'HEAD', rule }))
  return [...named, ...get, ...shape.filter(({ method }) => method === ANY_METHOD)]
}
