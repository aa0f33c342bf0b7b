/** A node of a trie of path segments: what has been matched so far. */
export interface TrieNode {
  /** By the text of the next segment, in the form of `Target.matched`. */
  literals: Map<string, TrieNode> | null
  /** Behind any segment that is not empty. */
  param: TrieNode | null
  /** Of the paths that end here. */
  readonly end: MethodRule[]
  /** Of all that go on from here. */
  readonly rest: MethodRule[]
}

/** Which rule a method has; the first of a list that fits counts. */
export interface MethodRule {
  /** Or `ANY_METHOD`. */
  readonly method: string
  /** Its number. */
  readonly rule: number
}

export const ANY_METHOD = '*'
export const NO_RULE = -1

/** The number of the rule for a path, which begins with a slash; or `NO_RULE`. */
export type Find = (method: string, path: string) => number

/** A node is `parent, length, param, end, rest, text...`: its text is that of the segment that leads to it, one character in each cell. */
const PARENT = 0
const LENGTH = 1
/** The node behind a parameter. */
const PARAM = 2
/** The lists of its rules. */
const END = 3
const REST = 4
const TEXT = 5

/** A list is `method, rule, ..., 0`. */
const LIST_ENDS = 0
const ANY = 1

/** In the place of a node, or of a list: there an empty one begins. */
const NONE = 0
const ROOT = 1

/**
 * Writes a trie as numbers, what one path needs side by side. As objects and maps it lies all over the heap: among 10,000 routes that are
 * asked for in a random order a request took 3.6 us more than among 10, nearly all of it on the way to its rule (Node 26.10, `perf`). And V8
 * interns each segment that is cut out of a path to be looked up in a map.
 *
 * @param inOrder puts the rules of one list in order
 */
export function pack(root: TrieNode, inOrder: (rules: readonly MethodRule[]) => readonly MethodRule[]): Find {
  const cells = [LIST_ENDS]
  const literals: number[] = []
  const methods = new Map([[ANY_METHOD, ANY]])

  function writeNode(node: TrieNode, parent: number, text: string): number {
    const cell = cells.length
    cells.push(parent, text.length, NONE, NONE, NONE)
    for (let i = 0; i < text.length; i++) cells.push(text.charCodeAt(i))
    cells[cell + END] = writeList(node.end)
    cells[cell + REST] = writeList(node.rest)
    if (node.param !== null) cells[cell + PARAM] = writeNode(node.param, cell, '')
    for (const [next, literal] of node.literals ?? []) literals.push(writeNode(literal, cell, next))
    return cell
  }

  function writeList(rules: readonly MethodRule[]): number {
    if (rules.length === 0) return NONE
    const cell = cells.length
    for (const { method, rule } of inOrder(rules)) cells.push(numberOf(method), rule)
    cells.push(LIST_ENDS)
    return cell
  }

  function numberOf(method: string): number {
    const number = methods.get(method) ?? methods.size + 1
    methods.set(method, number)
    return number
  }

  writeNode(root, NONE, '')
  const find = finder(new Int32Array(cells), literals)
  return (method, path) => find(methods.get(method) ?? ANY, path)
}

function finder(cells: Int32Array, literals: readonly number[]): (method: number, path: string) => number {
  const lengthOf = (node: number): number => cells[node + LENGTH] as number
  const longest = literals.reduce((most, node) => Math.max(most, lengthOf(node)), 0)
  // Open addressing, at most half full.
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * literals.length + 1)))
  const mask = slots.length - 1
  for (const node of literals) {
    let hash = cells[node + PARENT] as number
    for (let i = 0; i < lengthOf(node); i++) hash = mix(hash, cells[node + TEXT + i] as number)
    let slot = hash & mask
    while (slots[slot] !== NONE) slot = (slot + 1) & mask
    slots[slot] = node
  }

  /** @param at where the next segment begins: `path.length` for an empty one, one more for none */
  function find(node: number, method: number, path: string, at: number): number {
    if (at > path.length) return ruleOf(cells[node + END] as number, method)
    const slash = path.indexOf('/', at)
    const segmentEnd = slash < 0 ? path.length : slash
    const literal = findLiteral(node, path, at, segmentEnd)
    const exact = literal === NONE ? NO_RULE : find(literal, method, path, segmentEnd + 1)
    if (exact !== NO_RULE) return exact
    const param = segmentEnd === at ? NONE : (cells[node + PARAM] as number)
    const fitting = param === NONE ? NO_RULE : find(param, method, path, segmentEnd + 1)
    return fitting === NO_RULE ? ruleOf(cells[node + REST] as number, method) : fitting
  }

  function findLiteral(parent: number, path: string, at: number, segmentEnd: number): number {
    // Of a segment of 15 KB each character would be read again for each node, and each method that a 405 tells: up to 0.5 ms.
    if (segmentEnd - at > longest) return NONE
    let hash = parent
    for (let i = at; i < segmentEnd; i++) hash = mix(hash, path.charCodeAt(i))
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const node = slots[slot] as number
      if (node === NONE || isLiteral(node, parent, path, at, segmentEnd)) return node
    }
  }

  function isLiteral(node: number, parent: number, path: string, at: number, segmentEnd: number): boolean {
    if (cells[node + PARENT] !== parent || lengthOf(node) !== segmentEnd - at) return false
    const text = node + TEXT - at
    for (let i = at; i < segmentEnd; i++) if (cells[text + i] !== path.charCodeAt(i)) return false
    return true
  }

  function ruleOf(list: number, method: number): number {
    for (let cell = list; cells[cell] !== LIST_ENDS; cell += 2) {
      if (cells[cell] === method || cells[cell] === ANY) return cells[cell + 1] as number
    }
    return NO_RULE
  }

  return (method, path) => find(ROOT, method, path, 1)
}

/** The step of FNV-1a. */
function mix(hash: number, char: number): number {
  return Math.imul(hash ^ char, 0x01000193)
}
