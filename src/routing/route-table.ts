import { EXACT, type Folding, foldCase, foldLiteral, foldPath, hasOtherLetters, type Letters } from './folding.ts'
import type { TargetProblem } from './target.ts'

/** A part of a route pattern, between two slashes. */
export type Segment =
  /** Matches this text, with its letter case unless that is folded. Escapes count as their characters: `caf%c3%a9` is `café`. */
  | { readonly kind: 'literal'; readonly text: string }
  /** `:name` matches one segment that is not empty. */
  | { readonly kind: 'param'; readonly name: string }
  /** A last `*` matches one or more remaining segments, so `/a/*` matches `/a/b`, `/a/b/c` and `/a/`, but not `/a`. */
  | { readonly kind: 'rest' }

/** The part of a rule that the table reads. The rest of it is the caller's. */
export interface RoutePattern {
  /** As written in the configuration, for error messages. */
  readonly match: string
  /** The methods in upper case, at least one; or any method. */
  readonly methods: readonly string[] | '*'
  /** One segment for each slash: `/` is one empty literal, and a trailing slash adds one more at the end. */
  readonly segments: readonly Segment[]
}

export interface RouteMatch<T> {
  readonly rule: T
}

/** The path is known, but not the method. `Allow` lists the known methods. */
export interface MethodNotAllowed {
  readonly allow: readonly string[]
}

/** The path is refused, because services that fold paths differ about the rule that it matches. */
export interface Unclear {
  readonly unclear: Extract<TargetProblem['code'], 'target_only_dots' | 'target_letter_case'>
}

export interface RouteTable<T> {
  /**
   * The most specific rule for a request. Paths are compared segment by segment from the left, a literal before `:name`
   * before `*`, then a named method before any. If the more specific path lacks the method, the next one is tried. HEAD
   * counts as GET where no rule of that shape names it.
   *
   * @param path in the form of `Target.matched`, as `canonicalTarget` gives it
   * @returns `null` if no rule has such a path
   */
  lookup(method: string, path: string): RouteMatch<T> | MethodNotAllowed | Unclear | null
}

/** The rules, with their texts folded for one kind of letters. */
interface Trie<T> {
  /** @param path folded, except for a slash at its end */
  lookup(method: string, path: string): RouteMatch<T> | MethodNotAllowed | null
  add(rule: T): void
}

/** A node of a trie of path segments: the segments that have been matched so far. */
interface Node<T> {
  /** The nodes by the text of the next segment, folded. A map, because a path may hold `__proto__`. */
  readonly literals: Map<string, Node<T>>
  /** The node after any segment that is not empty. */
  param: Node<T> | null
  /** The rules of paths that end here. */
  readonly end: Shape<T>
  /** The rules of all paths that continue from here. */
  readonly rest: Shape<T>
}

/** The rules of one path pattern, by their methods. */
type Shape<T> = Map<string, RouteMatch<T>>

const ANY_METHOD = '*'

/**
 * Compiles the rules; their order does not matter.
 *
 * With `case` a letter beyond ASCII has two readings. A path is unclear if the second reading matches another rule.
 *
 * @param folding the differences that the upstream ignores. Default none
 * @throws Error when two rules claim the same method of the same shape, or a `*` is not last
 */
export function createRouteTable<T extends RoutePattern>(rules: readonly T[], folding: Folding = EXACT): RouteTable<T> {
  const making = makeRouteTable<T>(folding)
  for (const rule of rules) making.add(rule)
  return making.table
}

/** A table that is filled rule by rule: 10,000 at once would block the event loop. */
export interface RouteTableMaking<T> {
  /** Complete after the last rule is added. */
  readonly table: RouteTable<T>
  /** @throws Error as `createRouteTable` */
  add(rule: T): void
}

/** As `createRouteTable`, for a caller that adds the rules in slices. */
export function makeRouteTable<T extends RoutePattern>(folding: Folding): RouteTableMaking<T> {
  const trie = createTrie<T>(folding, 'ascii')
  const ofAllLetters = folding.case ? createTrie<T>(folding, 'all') : trie
  return {
    table: !folding.case && !folding.trailingDots ? trie : foldingTable(trie, ofAllLetters, folding),
    add(rule) {
      trie.add(rule)
      if (ofAllLetters !== trie) ofAllLetters.add(rule)
    },
  }
}

function foldingTable<T>(trie: Trie<T>, ofAllLetters: Trie<T>, folding: Folding): RouteTable<T> {
  return {
    lookup(method, path) {
      const folded = foldPath(path, folding)
      if (folded === null) return { unclear: 'target_only_dots' }
      const found = trie.lookup(method, folded)
      if (!folding.case || !hasOtherLetters(folded)) return found
      const other = ofAllLetters.lookup(method, foldCase(folded, folding, 'all'))
      return ruleOf(found) === ruleOf(other) ? found : { unclear: 'target_letter_case' }
    },
  }
}

function ruleOf<T>(found: ReturnType<Trie<T>['lookup']>): T | null {
  return found !== null && 'rule' in found ? found.rule : null
}

function createTrie<T extends RoutePattern>(folding: Folding, letters: Letters): Trie<T> {
  const root = newNode<T>()
  const methods = new Set<string>()
  // A path is split into at most so many parts: the empty text before the first slash, the segments of the longest rule, and two more. The
  // two show whether a slash after those segments is the last character of the path.
  let most = 3

  function add(rule: T): void {
    addRule(root, rule, folding, letters)
    noteMethods(rule, methods)
    most = Math.max(most, rule.segments.length + 3)
  }

  function lookup(method: string, path: string): RouteMatch<T> | MethodNotAllowed | null {
    const segments = path.split('/', most)
    return find(root, method, segments, 1, folding.trailingSlash) ?? allowed(segments)
  }

  function allowed(segments: readonly string[]): MethodNotAllowed | null {
    const allow = [...methods].filter((method) => find(root, method, segments, 1, folding.trailingSlash) !== null)
    return allow.length === 0 ? null : { allow }
  }
  return { lookup, add }
}

function noteMethods({ methods }: RoutePattern, named: Set<string>): void {
  for (const method of methods === '*' ? [] : methods) {
    named.add(method)
    if (method === 'GET') named.add('HEAD')
  }
}

/** @param slash whether a slash at the end is ignored. If not, it is an empty rest: `/a/` is matched by `/a/*` */
function find<T>(
  node: Node<T>,
  method: string,
  segments: readonly string[],
  at: number,
  slash: boolean,
): RouteMatch<T> | null {
  const segment = segments[at]
  if (segment === undefined) return matchOf(node.end, method)
  const isSlash = slash && segment === '' && at > 1 && at === segments.length - 1
  const literal = node.literals.get(segment)
  const param = segment === '' ? null : node.param
  return (
    (isSlash ? matchOf(node.end, method) : null) ??
    (literal === undefined ? null : find(literal, method, segments, at + 1, slash)) ??
    (param === null ? null : find(param, method, segments, at + 1, slash)) ??
    matchOf(node.rest, method)
  )
}

/** The match for a method: by its name, HEAD as GET, or any method. */
function matchOf<T>(shape: Shape<T>, method: string): RouteMatch<T> | null {
  const named = shape.get(method) ?? (method === 'HEAD' ? shape.get('GET') : undefined)
  return named ?? shape.get(ANY_METHOD) ?? null
}

function addRule<T extends RoutePattern>(root: Node<T>, rule: T, folding: Folding, letters: Letters): void {
  const shape = shapeOf(root, rule, (text) => foldLiteral(text, folding, letters), folding)
  for (const method of rule.methods === '*' ? [ANY_METHOD] : rule.methods) {
    const other = shape.get(method)?.rule
    if (other) throw new Error(`two rules for ${method} on one path: "${other.match}" and "${rule.match}"`)
    shape.set(method, { rule })
  }
}

/** The rules of one path pattern. */
function shapeOf<T>(
  root: Node<T>,
  { match, segments }: RoutePattern,
  literal: (text: string) => string,
  folding: Folding,
): Shape<T> {
  let node = root
  for (const [i, segment] of withoutSlash(segments, folding).entries()) {
    if (segment.kind === 'rest') {
      if (i < segments.length - 1) throw new Error(`"*" must be the last segment: "${match}"`)
      return node.rest
    }
    node = segment.kind === 'param' ? paramOf(node) : literalOf(node, literal(segment.text))
  }
  return node.end
}

/**
 * The segments without a slash at the end, if such a slash is ignored. A slash after another slash is an empty segment, and stays. `/` stays
 * because nothing else is left of the path.
 */
function withoutSlash(segments: readonly Segment[], { trailingSlash }: Folding): readonly Segment[] {
  const [before, last] = segments.slice(-2)
  const isSlash = trailingSlash && isEmpty(last) && !isEmpty(before)
  return isSlash ? segments.slice(0, -1) : segments
}

function isEmpty(segment: Segment | undefined): boolean {
  return segment?.kind === 'literal' && segment.text === ''
}

/** Two patterns of one shape match the same paths: parameter names, the spelling of escapes and folded differences do not matter. */
export function shapeText({ segments }: Pick<RoutePattern, 'segments'>, folding: Folding): string {
  return withoutSlash(segments, folding)
    .map((s) => (s.kind === 'literal' ? `/${foldLiteral(s.text, folding, 'all')}` : s.kind === 'param' ? '/:' : '/*'))
    .join('')
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
