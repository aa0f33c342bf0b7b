import { isPlain, isValue } from './segments.ts'

/** The requests of one method that end at a place of the tree. */
export interface Ending {
  requests: number
  /** Those whose caller the log does not name, though their rule may ask who it is. */
  anonymous: number
  /** Those of a public rule. */
  public: number
}

/** Whom the log names for a request: its caller, nobody, or nobody because a public rule asks for no one. */
export type Asker = 'named' | 'anonymous' | 'public'

/** Requests by method. */
export type Endings = Map<string, Ending>

/** What paths have in common up to a place. */
export interface PathNode {
  /** As it was first written. */
  readonly text: string
  /** Of all paths that come this far. */
  requests: number
  /** By the next segment in lower case: no rule tells two apart by their letter case. */
  readonly names: Map<string, PathNode>
  /** Behind any of many values. */
  value: PathNode | null
  /** What the values are called. */
  valueName: string
  /** Whether segments that are not among the names are values. */
  isFolded: boolean
  readonly endings: Endings
  /** Of all longer paths, which go on as they like; `null` without any. */
  rest: Endings | null
}

export interface Tree {
  readonly root: PathNode
  size: number
}

/** A part of a path to be added. */
export type Step =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly name: string }
  | { readonly kind: 'rest' }

/** Bounds on what strangers can make of the tree by paths that they make up. */
const MOST_NODES = 20_000
const MOST_NAMES = 256
const MOST_STEPS = 10
/** Part of the requests of a place that makes a name worth a rule of its own, where names are many. */
const WORTH = 0.02

export function newTree(): Tree {
  return { root: newNode(''), size: 1 }
}

function newNode(text: string): PathNode {
  return {
    text,
    requests: 0,
    names: new Map(),
    value: null,
    valueName: 'name',
    isFolded: false,
    endings: new Map(),
    rest: null,
  }
}

/** Adds a request. The tree keeps within its bounds: beyond them names become values. */
export function addPath(tree: Tree, steps: readonly Step[], method: string, asker: Asker): void {
  const ending: Ending = { requests: 1, anonymous: asker === 'anonymous' ? 1 : 0, public: asker === 'public' ? 1 : 0 }
  let node = tree.root
  node.requests++
  for (const [i, step] of steps.entries()) {
    if (step.kind === 'rest' || i >= MOST_STEPS) {
      node.rest ??= new Map()
      addEnding(node.rest, method, ending)
      return
    }
    node = nextOf(tree, node, step, i === 0)
    node.requests++
  }
  addEnding(node.endings, method, ending)
  if (tree.size > MOST_NODES) shrink(tree)
}

function nextOf(tree: Tree, node: PathNode, step: Exclude<Step, { kind: 'rest' }>, isFirst: boolean): PathNode {
  if (step.kind === 'value') return valueBehind(tree, node, step.name)
  const { text } = step
  const key = text.toLowerCase()
  const known = node.names.get(key)
  if (known !== undefined) return known
  const isOne = text !== '' && (node.isFolded || !isPlain(text) || isValue(text))
  if (isOne) return valueBehind(tree, node, isValue(text) ? 'id' : 'name')
  const made = newNode(text)
  node.names.set(key, made)
  tree.size++
  if (node.names.size <= MOST_NAMES) return made
  foldNames(tree, node, MOST_NAMES, isFirst)
  return node.names.get(key) ?? valueBehind(tree, node, 'name')
}

function valueBehind(tree: Tree, node: PathNode, name: string): PathNode {
  if (node.value === null) {
    node.value = newNode('')
    node.valueName = name
    tree.size++
  }
  return node.value
}

function addEnding(to: Endings, method: string, ending: Ending): void {
  const known = to.get(method)
  if (known === undefined) to.set(method, { ...ending })
  else {
    known.requests += ending.requests
    known.anonymous += ending.anonymous
    known.public += ending.public
  }
}

export function addEndings(to: Endings, from: Endings): void {
  for (const [method, ending] of from) addEnding(to, method, ending)
}

/** Names become values all over the tree, ever more of them, until half of its bound is free. */
function shrink(tree: Tree): void {
  for (let most = MOST_NAMES / 2; tree.size > MOST_NODES / 2 && most >= 1; most /= 2) foldAll(tree, most)
}

/** Makes values of names wherever there are more than `most`. */
export function foldAll(tree: Tree, most: number): void {
  visit(tree.root, true)

  function visit(node: PathNode, isRoot: boolean): void {
    if (node.names.size > most) foldNames(tree, node, most, isRoot)
    for (const child of node.names.values()) visit(child, false)
    if (node.value !== null) visit(node.value, false)
  }
}

/**
 * Makes values of the names of one place. Those with many requests stay, half of `most` of them: at the root as they are, deeper only
 * if there is more behind them than behind the values.
 */
function foldNames(tree: Tree, node: PathNode, most: number, isRoot: boolean): void {
  // The empty name is the path "/".
  const byRequests = [...node.names].filter(([key]) => key !== '').sort(([, a], [, b]) => b.requests - a.requests)
  const isWorth = ([, child]: [string, PathNode], i: number) =>
    i < Math.floor(most / 2) && child.requests >= WORTH * node.requests
  const isStaying = byRequests.map(isWorth)
  const value = valueBehind(tree, node, 'name')
  node.isFolded = true
  const take = (key: string, child: PathNode): void => {
    node.names.delete(key)
    merge(tree, value, child)
  }
  for (const [i, [key, child]] of byRequests.entries()) if (!isStaying[i]) take(key, child)
  if (isRoot) return
  for (const [key, child] of [...node.names]) if (isCovered(child, value)) take(key, child)
}

/** Whether all that lies behind one place lies behind another too. */
function isCovered(node: PathNode, by: PathNode): boolean {
  if (![...node.endings.keys()].every((method) => by.endings.has(method))) return false
  if (node.rest !== null && by.rest === null) return false
  if (node.value !== null && (by.value === null || !isCovered(node.value, by.value))) return false
  return [...node.names].every(([key, child]) => {
    const other = by.names.get(key) ?? by.value
    return other !== null && isCovered(child, other)
  })
}

/** Adds all of a place to another one. */
function merge(tree: Tree, to: PathNode, from: PathNode): void {
  tree.size--
  to.requests += from.requests
  to.isFolded ||= from.isFolded
  addEndings(to.endings, from.endings)
  if (from.rest !== null) {
    to.rest ??= new Map()
    addEndings(to.rest, from.rest)
  }
  if (from.value !== null) mergeValue(tree, to, from.value, from.valueName)
  for (const [key, child] of from.names) {
    const known = to.names.get(key)
    if (known !== undefined) merge(tree, known, child)
    else if (to.isFolded) merge(tree, valueBehind(tree, to, 'name'), child)
    else to.names.set(key, child)
  }
}

function mergeValue(tree: Tree, to: PathNode, value: PathNode, name: string): void {
  if (to.value !== null) merge(tree, to.value, value)
  else {
    to.value = value
    to.valueName = name
  }
}
