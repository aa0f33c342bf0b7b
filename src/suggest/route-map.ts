import { addEndings, type Endings, foldAll, type PathNode, type Tree } from './path-tree.ts'

/** A rule of the suggested route map. */
export interface SuggestedRule {
  /** The rule as a configuration writes it. */
  readonly match: string
  readonly category: 'read' | 'write'
  /** Requests of the log with such a path and method. */
  readonly requests: number
  /** Whether it asks for no credential and charges nothing, because only public rules had its requests. */
  readonly isPublic: boolean
  /** Whether the rule is not public and the log does not name some of its callers. */
  readonly isAnonymous: boolean
}

/** The most rules: nobody reads a longer file, and names become values instead. */
const MOST_RULES = 300
/** If paths have this many different lengths in a row, paths of any greater length are assumed. */
const LENGTHS = 3

/** The rules that match each path of a tree. The tree is changed. @param most names of one place that stay names */
export function rulesOf(tree: Tree, most: number): readonly SuggestedRule[] {
  for (let names = most; ; names = Math.floor(names / 2)) {
    foldAll(tree, names)
    openEnds(tree.root, true, most)
    const rules = [...rulesBehind(tree.root, { path: '', taken: new Set() })]
    if (rules.length <= MOST_RULES || names === 0) return rules
  }
}

/** Writes a rest for paths that may have any length. */
function openEnds(node: PathNode, isRoot: boolean, most: number): void {
  if (!isRoot && isLongTail(node, most)) {
    const rest: Endings = node.rest ?? new Map()
    for (const child of childrenOf(node)) for (const { endings } of endingsBehind(child, 1)) addEndings(rest, endings)
    node.rest = rest
    node.names.clear()
    node.value = null
  } else if (node.value !== null && isChain(node.value)) {
    const rest: Endings = node.rest ?? new Map()
    for (const { endings } of endingsBehind(node.value, 1)) addEndings(rest, endings)
    node.rest = rest
    node.value = null
  }
  for (const child of childrenOf(node)) openEnds(child, false, most)
}

/** Whether values follow values, and paths end after each. */
function isChain(value: PathNode): boolean {
  let node: PathNode | null = value
  for (let length = 0; length < LENGTHS; length++) {
    if (node === null || node.endings.size === 0) return false
    node = node.value
  }
  return true
}

/** Whether paths of many lengths end in so many places that the `most` busiest places have less than half of the requests. */
function isLongTail(node: PathNode, most: number): boolean {
  const ends = childrenOf(node).flatMap((child) => [...endingsBehind(child, 1)])
  if (ends.length <= most || new Set(ends.map(({ depth }) => depth)).size < LENGTHS) return false
  const requests = ends.map(({ endings }) => requestsOf(endings)).sort((a, b) => b - a)
  return sum(requests.slice(0, most)) < sum(requests) / 2
}

function* endingsBehind(node: PathNode, depth: number): Generator<{ endings: Endings; depth: number }> {
  if (node.endings.size > 0) yield { endings: node.endings, depth }
  if (node.rest !== null) yield { endings: node.rest, depth: depth + 1 }
  for (const child of childrenOf(node)) yield* endingsBehind(child, depth + 1)
}

function childrenOf({ names, value }: PathNode): PathNode[] {
  return value === null ? [...names.values()] : [...names.values(), value]
}

function requestsOf(endings: Endings): number {
  return sum([...endings.values()].map(({ requests }) => requests))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

interface Way {
  readonly path: string
  /** The names of its parameters. */
  readonly taken: ReadonlySet<string>
}

/** Yields the rules of a node and of everything below it, the more specific rules first. */
function* rulesBehind(node: PathNode, { path, taken }: Way): Generator<SuggestedRule> {
  if (path !== '') yield* rulesAt(path, node.endings)
  const names = [...node.names.values()].sort((a, b) => (a.text.toLowerCase() < b.text.toLowerCase() ? -1 : 1))
  for (const child of names) yield* rulesBehind(child, { path: `${path}/${child.text}`, taken })
  if (node.value !== null) {
    const name = freeName(node.valueName, taken)
    yield* rulesBehind(node.value, { path: `${path}/:${name}`, taken: new Set([...taken, name]) })
  }
  if (node.rest !== null) yield* rulesAt(`${path}/*`, node.rest)
}

/** A name that the path does not have yet. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  const start = name.slice(0, 60)
  let number = 2
  while (taken.has(`${start}${number}`)) number++
  return `${start}${number}`
}

/** Preflights have their own rule: browsers send them without a credential. */
const GROUPS = [
  { category: 'read', has: (method: string) => method === 'GET' || method === 'HEAD' },
  { category: 'read', has: (method: string) => method === 'OPTIONS' },
  { category: 'write', has: (method: string) => !['GET', 'HEAD', 'OPTIONS'].includes(method) },
] as const

function* rulesAt(path: string, endings: Endings): Generator<SuggestedRule> {
  for (const { category, has } of GROUPS) {
    const methods = [...endings.keys()].filter(has).sort()
    if (methods.length === 0) continue
    const found = methods.flatMap((method) => endings.get(method) ?? [])
    const requests = sum(found.map((ending) => ending.requests))
    const isPublic = found.every((ending) => ending.public === ending.requests)
    const isAnonymous = !isPublic && found.some((ending) => ending.anonymous + ending.public > 0)
    // HEAD counts as GET.
    const named = methods.includes('HEAD') ? ['GET'] : methods
    yield { match: `${named.join('|')} ${path}`, category, requests, isPublic, isAnonymous }
  }
}
