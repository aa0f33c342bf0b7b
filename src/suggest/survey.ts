import { parsePattern } from '../config/pattern.ts'
import { JWT_PREFIX, KEY_PREFIX } from '../control/user-id.ts'
import { STATUS_PATHS, USAGE_PATH } from '../quota/own-paths.ts'
import type { Entry } from '../replay/entry.ts'
import type { Journal } from '../replay/journal.ts'
import { canonicalTarget } from '../routing/target.ts'
import type { Credentials } from './draft.ts'
import { type Asker, addPath, newTree, type Step, type Tree } from './path-tree.ts'

/** Why a request of the log has no place in the route map. */
export const LEFT_OUT = {
  path: 'the gateway refuses the path: see edge.allow_in_path',
  method: 'the gateway serves no such method',
  own: 'the gateway has this path for itself',
  no_rule: 'no rule matched it then, and the log has no path',
} as const
export type LeftOut = keyof typeof LEFT_OUT

/** What the requests of a log have in common. */
export interface Survey {
  readonly tree: Tree
  /** Requests of the tree. */
  readonly requests: number
  /** Those of them whose caller the log names. */
  readonly named: number
  readonly credentials: Credentials
  readonly leftOut: ReadonlyMap<LeftOut, number>
}

export function surveyOf(journal: Journal): Survey {
  const tree = newTree()
  const leftOut = new Map<LeftOut, number>()
  const isServed = createMethods()
  let [requests, named] = [0, 0]
  let [hasJwts, hasKeys] = [false, false]
  const look = (entry: Entry): void => {
    // What an open WebSocket costs again is no request.
    if (entry.tunnel !== undefined && entry.tunnel.openMs > 0) return
    const steps = isServed(entry.method) ? stepsOf(entry) : 'method'
    if (typeof steps === 'string') {
      leftOut.set(steps, (leftOut.get(steps) ?? 0) + 1)
      return
    }
    requests++
    if (entry.user !== null) named++
    if (entry.user?.startsWith(JWT_PREFIX)) hasJwts = true
    else if (entry.user?.startsWith(KEY_PREFIX)) hasKeys = true
    addPath(tree, steps, entry.method, askerOf(entry))
  }
  journal.forEach(look, () => {})
  return { tree, requests, named, credentials: { hasJwts, hasKeys }, leftOut }
}

/** A gateway names a caller for each request that its rule may charge, if only by address. */
function askerOf({ user, target }: Entry): Asker {
  if (user !== null) return 'named'
  return target.kind === 'rule' ? 'public' : 'anonymous'
}

/** What a rule may name: there are three dozen methods. */
function createMethods(): (method: string) => boolean {
  const known = new Map<string, boolean>()
  return (method) => {
    const isServed = known.get(method) ?? (/^[A-Z-]{1,20}$/.test(method) && 'value' in parsePattern(`${method} /`))
    if (isServed) known.set(method, true)
    return isServed
  }
}

const ALLOWANCES = { encodedSlash: false, emptySegment: false, semicolon: false }
/** Default of `edge.max_url`. */
const LONGEST = 8192

function stepsOf({ method, target }: Entry): readonly Step[] | LeftOut {
  const steps = target.kind === 'rule' ? stepsOfRule(target.text) : stepsOfPath(target.text)
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && typeof steps !== 'string' && isOwn(steps) ? 'own' : steps
}

/** Whether the gateway answers such a path itself, or would if the path had no slash at its end. */
function isOwn(steps: readonly Step[]): boolean {
  const path = steps.map((step) => (step.kind === 'text' ? `/${step.text}` : '/:')).join('')
  return STATUS_PATHS.has(path) || path === USAGE_PATH
}

function stepsOfPath(path: string): readonly Step[] | LeftOut {
  const read = path.length > LONGEST ? null : canonicalTarget(path, ALLOWANCES)
  if (read === null || 'problem' in read) return 'path'
  return segmentsOf(read.matched).map((text) => ({ kind: 'text', text }))
}

/** The rules keep the names of their parameters. */
function stepsOfRule(rule: string): readonly Step[] | LeftOut {
  const at = rule.indexOf('/')
  if (at < 0) return 'no_rule'
  const reading = parsePattern(`GET ${rule.slice(at)}`)
  if (!('value' in reading)) return 'no_rule'
  const steps = reading.value.segments.map((segment): Step => {
    if (segment.kind === 'literal') return { kind: 'text', text: segment.text }
    return segment.kind === 'param' ? { kind: 'value', name: segment.name } : { kind: 'rest' }
  })
  const isEmpty = (step: Step) => step.kind === 'text' && step.text === ''
  const path = withoutSlash(steps, isEmpty)
  return path.length > 1 && path.some(isEmpty) ? 'path' : path
}

function segmentsOf(path: string): readonly string[] {
  return withoutSlash(path.slice(1).split('/'), (segment) => segment === '')
}

/** The suggested file ignores a slash at the end. */
function withoutSlash<T>(parts: readonly T[], isEmpty: (part: T) => boolean): readonly T[] {
  const last = parts.at(-1)
  return parts.length > 1 && last !== undefined && isEmpty(last) ? parts.slice(0, -1) : parts
}
