import { isPlain, isValue } from './segments.ts'

/** The requests of one method that end at a place of the tree. */
export interface Ending {
  requests: number
  /** Requests whose caller the log does not name, though their rule may ask for a credential. */
  anonymous: number
  /** Requests of a public rule. */
  public: number
}

/** Whether the log names the caller of a request: `named`, `anonymous`, or `public` if its rule asks for no credential. */
export type Asker = 'named' | 'anonymous' | 'public'

/** Requests by method. */
export type Endings = Map<string, Ending>

/** A place of the tree: the common beginning of paths. */
export interface PathNode {
  /** The text as it was first written. */
  readonly text: string
  /** Requests of all paths that reach this place. */
  requests: number
  /** The only sender of these requests; `null` if several sent them, or if the log does not name the sender. */
  owner: string | null
  /** The nodes by the next segment in lower case: no rule tells two apart by their letter case. */
  readonly names: Map<string, PathNode>
  /** The node for any of many values in the next segment. */
  value: PathNode | null
  /** The name of the parameter for the values. */
  valueName: string
  /** Whether segments that are not among the names are values. */
  isFolded: boolean
  readonly endings: Endings
  /** Requests of all longer paths, with any segments; `null` without any. */
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

/** Bounds on the growth of the tree by made-up paths of strangers. */
const MOST_NODES = 20_000
const MOST_NAMES = 256
const MOST_STEPS = 10
/** Among many names of a place, a name with this part of its requests keeps its own rule. */
const WORTH = 0.02

export function newTree(): Tree {
  return { root: newNode('', null), size: 1 }
}

function newNode(text: string, owner: string | null): PathNode {
  return {
    text,
    requests: 0,
    owner,
    names: new Map(),
    value: null,
    valueName: 'name',
    isFolded: false,
    endings: new Map(),
    rest: null,
  }
}

/** The sender of a request. */
export interface Sender {
  readonly asker: Asker
  /** A user or an address; `null` if the log has neither. */
  readonly name: string | null
}

/** Adds a request. The tree keeps within its bounds: beyond them names become values. */
export function addPath(tree: Tree, steps: readonly Step[], method: string, { asker, name }: Sender): void {
  const ending: Ending = { requests: 1, anonymous: asker === 'anonymous' ? 1 : 0, public: asker === 'public' ? 1 : 0 }
  let node = tree.root
  node.requests++
  for (const [i, step] of steps.entries()) {
    if (step.kind === 'rest' || i >= MOST_STEPS) {
      node.rest ??= new Map()
      addEnding(node.rest, method, ending)
      return
    }
    node = nextOf(tree, node, step, { isFirst: i === 0, sender: name })
    node.requests++
    if (node.owner !== name) node.owner = null
  }
  addEnding(node.endings, method, ending)
  if (tree.size > MOST_NODES) shrink(tree)
}

function nextOf(
  tree: Tree,
  node: PathNode,
  step: Exclude<Step, { kind: 'rest' }>,
  { isFirst, sender }: { readonly isFirst: boolean; readonly sender: string | null },
): PathNode {
  if (step.kind === 'value') return valueBehind(tree, node, step.name)
  const { text } = step
  const key = text.toLowerCase()
  const known = node.names.get(key)
  if (known !== undefined) return known
  const isOne = text !== '' && (node.isFolded || !isPlain(text) || isValue(text))
  if (isOne) return valueBehind(tree, node, isValue(text) ? 'id' : 'name')
  const made = newNode(text, sender)
  node.names.set(key, made)
  tree.size++
  if (node.names.size <= MOST_NAMES) return made
  foldNames(tree, node, isFrequent(node, MOST_NAMES), isFirst)
  return node.names.get(key) ?? valueBehind(tree, node, 'name')
}

function valueBehind(tree: Tree, node: PathNode, name: string): PathNode {
  if (node.value === null) {
    node.value = newNode('', null)
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

/** Turns names into values all over the tree, ever more of them, until half of its bound is free. */
function shrink(tree: Tree): void {
  for (let most = MOST_NAMES / 2; tree.size > MOST_NODES / 2 && most >= 1; most /= 2) foldAll(tree, most)
}

/** Turns names into values wherever there are more than `most`, or users have names of their own. */
export function foldAll(tree: Tree, most: number): void {
  visit(tree.root, true)

  function visit(node: PathNode, isRoot: boolean): void {
    if (node.names.size > most) foldNames(tree, node, isFrequent(node, most), isRoot)
    else if (isOfUsers(node, isRoot)) foldNames(tree, node, (child) => !isOwn(child, isRoot), isRoot)
    for (const child of node.names.values()) visit(child, false)
    if (node.value !== null) visit(node.value, false)
  }
}

/** If so many users have names of their own at a place, its names are values. */
const FEW_USERS = 3
/** The least average of requests for those names. One request for a name does not show whether the name belongs to its user. */
const OWN_REQUESTS = 2

/** Whether the names of a place differ by user, like the names after `/users` in `/users/ann/orders`. */
function isOfUsers(node: PathNode, isRoot: boolean): boolean {
  const own = [...node.names.values()].filter((child) => isOwn(child, isRoot))
  if (new Set(own.map(({ owner }) => owner)).size < FEW_USERS) return false
  return own.reduce((sum, { requests }) => sum + requests, 0) >= OWN_REQUESTS * own.length
}

/** Whether a name has one sender only. At the root a name with nothing after it belongs to the service, even then. */
function isOwn({ owner, text, names, value }: PathNode, isRoot: boolean): boolean {
  return owner !== null && text !== '' && (!isRoot || names.size > 0 || value !== null)
}

/** Whether a name stays, by its place in the order of requests. */
type Stays = (child: PathNode, place: number) => boolean

/** The names with the most requests, at most half of `most`. */
function isFrequent({ requests }: PathNode, most: number): Stays {
  return (child, place) => place < Math.floor(most / 2) && child.requests >= WORTH * requests
}

/**
 * Turns the names of one place into values, except for those that stay. Below the root such a name stays only if it has a method, or
 * anything after it, that the values do not have.
 */
function foldNames(tree: Tree, node: PathNode, stays: Stays, isRoot: boolean): void {
  // The empty name is the path "/".
  const byRequests = [...node.names].filter(([key]) => key !== '').sort(([, a], [, b]) => b.requests - a.requests)
  const isStaying = byRequests.map(([, child], place) => stays(child, place))
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

/** Whether everything below one place also lies below another. */
function isCovered(node: PathNode, by: PathNode): boolean {
  if (![...node.endings.keys()].every((method) => by.endings.has(method))) return false
  if (node.rest !== null && by.rest === null) return false
  if (node.value !== null && (by.value === null || !isCovered(node.value, by.value))) return false
  return [...node.names].every(([key, child]) => {
    const other = by.names.get(key) ?? by.value
    return other !== null && isCovered(child, other)
  })
}

/** Adds everything of a place to another one. */
function merge(tree: Tree, to: PathNode, from: PathNode): void {
  tree.size--
  to.requests += from.requests
  to.isFolded ||= from.isFolded
  if (to.owner !== from.owner) to.owner = null
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
