import { parsePattern } from '../config/pattern.ts'
import { JWT_PREFIX, KEY_PREFIX } from '../control/user-id.ts'
import { scrub } from '../lib/scrub.ts'
import { shown } from '../lib/shown.ts'
import { STATUS_PATHS, USAGE_PATH } from '../quota/own-paths.ts'
import type { Entry } from '../replay/entry.ts'
import type { Journal } from '../replay/journal.ts'
import { canonicalTarget } from '../routing/target.ts'
import type { Credentials } from './draft.ts'
import { OPEN_PATHS } from './openness.ts'
import { type Asker, addPath, newTree, type Sender, type Step, type Tree } from './path-tree.ts'

/** Why a request of the log has no place in the route map, and how the suggested file treats it. */
export const LEFT_OUT = {
  path: 'denied, because the gateway takes no such path (400, or 414 where it is too long)',
  method: 'denied, because the gateway serves no such method (405, or 501 where the parser of Node does not know it)',
  own: 'answered by the gateway itself, because the path is one of its own',
  no_rule: 'in no route, because no rule matched it then and the log has no path',
} as const
export type LeftOut = keyof typeof LEFT_OUT

/** Requests of one kind. */
export interface Some {
  readonly count: number
  /** A few different ones, as `GET /a%00b`. */
  readonly examples: readonly string[]
}

const MOST_EXAMPLES = 3
const LONGEST_EXAMPLE = 80

/** The requests of a log, by kind. */
export interface Survey {
  readonly tree: Tree
  /** Requests in the tree, which are those that did not fail. */
  readonly requests: number
  /** Requests that failed. */
  readonly failed: number
  /** The requests among both whose caller the log names. */
  readonly named: number
  readonly credentials: Credentials
  readonly leftOut: ReadonlyMap<LeftOut, Some>
}

export function surveyOf(journal: Journal): Survey {
  const tree = newTree()
  const leftOut = new Map<LeftOut, Some>()
  const isServed = createMethods()
  let [requests, failed, named] = [0, 0, 0]
  let [hasJwts, hasKeys] = [false, false]
  const look = (entry: Entry): void => {
    // A later charge of an open WebSocket is no request.
    if (entry.tunnel !== undefined && entry.tunnel.openMs > 0) return
    const steps = isServed(entry.method) ? stepsOf(entry) : 'method'
    if (typeof steps === 'string') {
      leftOut.set(steps, oneMore(leftOut.get(steps), entry))
      return
    }
    if (entry.user !== null) named++
    if (entry.user?.startsWith(JWT_PREFIX)) hasJwts = true
    else if (entry.user?.startsWith(KEY_PREFIX)) hasKeys = true
    if (entry.failed === true) failed++
    else {
      requests++
      addPath(tree, steps, entry.method, senderOf(entry))
    }
  }
  journal.forEach(look)
  return { tree, requests, failed, named, credentials: { hasJwts, hasKeys }, leftOut }
}

function oneMore({ count, examples }: Some = { count: 0, examples: [] }, { method, target }: Entry): Some {
  const example = shown(scrub(`${method} ${target.text}`)).slice(0, LONGEST_EXAMPLE)
  const isNew = examples.length < MOST_EXAMPLES && !examples.includes(example)
  return { count: count + 1, examples: isNew ? [...examples, example] : examples }
}

export function senderOf(entry: Entry): Sender {
  return { asker: askerOf(entry), name: entry.user ?? entry.address }
}

/** The log of a gateway (`rule`) names a caller for each request that may be charged, if only by address. Other requests are public. */
function askerOf({ user, target }: Entry): Asker {
  if (user !== null) return 'named'
  return target.kind === 'rule' ? 'public' : 'anonymous'
}

/** Tells whether a rule may name a method. Only those that it may are remembered, about three dozen, since a log can have any text there. */
function createMethods(): (method: string) => boolean {
  const known = new Map<string, boolean>()
  return (method) => {
    const isServed = known.get(method) ?? (/^[A-Z-]{1,20}$/.test(method) && 'value' in parsePattern(`${method} /`))
    if (isServed) known.set(method, true)
    return isServed
  }
}

/** Default of `edge.max_url`. */
const LONGEST = 8192

export function stepsOf({ method, target }: Entry): readonly Step[] | LeftOut {
  const steps = target.kind === 'rule' ? stepsOfRule(target.text) : stepsOfPath(target.text)
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && typeof steps !== 'string' && isOwn(steps) ? 'own' : steps
}

/** Whether the gateway itself responds at such a path, or would without its slash at the end. */
function isOwn(steps: readonly Step[]): boolean {
  const path = steps.map((step) => (step.kind === 'text' ? `/${step.text}` : '/:')).join('')
  return STATUS_PATHS.has(path) || path === USAGE_PATH
}

function stepsOfPath(path: string): readonly Step[] | LeftOut {
  const read = path.length > LONGEST ? null : canonicalTarget(path, OPEN_PATHS)
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
  return withoutSlash(steps, isEmpty)
}

function segmentsOf(path: string): readonly string[] {
  return withoutSlash(path.slice(1).split('/'), (segment) => segment === '')
}

/** The suggested file ignores a slash at the end. */
function withoutSlash<T>(parts: readonly T[], isEmpty: (part: T) => boolean): readonly T[] {
  const last = parts.at(-1)
  return parts.length > 1 && last !== undefined && isEmpty(last) ? parts.slice(0, -1) : parts
}
