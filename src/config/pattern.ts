import { METHODS } from 'node:http'
import { didYouMean } from '../lib/suggest.ts'
import { quote } from './problems.ts'
import type { Reading } from './units.ts'

/** A part of a route pattern, between two slashes. */
export type Segment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'param'; readonly name: string }
  | { readonly kind: 'rest' }

/** What a rule matches. */
export interface Pattern {
  /** As in the file. */
  readonly match: string
  /** At least one method in upper case; or `*` for any method. */
  readonly methods: readonly string[] | '*'
  /** One for each slash: `/` is one empty literal, and a trailing slash adds one at the end. */
  readonly segments: readonly Segment[]
}

/** TRACE repeats credentials, and CONNECT asks for a tunnel, so the gateway responds with 405 to both. */
const SERVED = new Set(METHODS.filter((method) => method !== 'CONNECT' && method !== 'TRACE'))
const PARAM = /^:[A-Za-z_][A-Za-z0-9_]{0,63}$/
/** Nobody writes longer rules by hand. A look-up recurses once for each segment, and the time of checks grows with the square of them. */
const MAX_SEGMENTS = 64
const EXAMPLE = 'write one like GET /v1/items/:id'

/** `METHOD|METHOD /literal/:name/*` */
export function parsePattern(text: string): Reading<Pattern> {
  const [, methods, path] = /^(\S+) +(\/\S*)$/.exec(text) ?? []
  if (methods === undefined || path === undefined) return { problem: whatIsWrong(text) }
  const problem = methodsProblem(methods) ?? pathProblem(path)
  if (problem !== null) return { problem }
  const segments = path.slice(1).split('/').map(toSegment)
  return { value: { match: text, methods: methods === '*' ? '*' : methods.split('|'), segments } }
}

function whatIsWrong(text: string): string {
  if (text.startsWith('/')) return `${quote(text)} has no method: write GET ${text}, or * ${text} for any`
  if (/^\S+ +\S+$/.test(text)) return `the path of ${quote(text)} does not begin with "/": ${EXAMPLE}`
  return `${quote(text)} is not a method, a space and a path: ${EXAMPLE}`
}

function methodsProblem(methods: string): string | null {
  if (methods === '*') return null
  const names = methods.split('|')
  const unknown = names.find((method) => !SERVED.has(method))
  if (unknown !== undefined) return `${quote(unknown)} is not a method that is served${methodCure(unknown)}`
  return new Set(names).size < names.length ? `${quote(methods)} names a method twice: remove one` : null
}

function methodCure(method: string): string {
  if (method === '') return ': join methods by one "|" without spaces'
  if (method === '*') return ': write * alone for any method'
  const isUnknown = /^[A-Z][A-Z_-]*$/.test(method) && !METHODS.includes(method)
  return (
    didYouMean(method, SERVED) || (isUnknown ? UNKNOWN : '') || ': write GET, POST, PUT, PATCH, DELETE, or * for any'
  )
}

const UNKNOWN =
  ': Node’s HTTP parser does not know it, so clients get 501. Write one of GET, POST, PUT, PATCH, DELETE, PROPFIND and the like, or * for any'

function pathProblem(path: string): string | null {
  const segments = path.slice(1).split('/')
  if (segments.length > MAX_SEGMENTS) {
    return `${quote(path)} has ${segments.length} segments, and ${MAX_SEGMENTS} are the most: end it earlier, with "*" as the last`
  }
  const params = segments.filter((segment) => segment.startsWith(':'))
  if (new Set(params).size < params.length) return `${quote(path)} has a parameter twice: give each its own name`
  for (const [i, segment] of segments.entries()) {
    const problem = segmentProblem(segment, i === segments.length - 1)
    if (problem !== null) return problem
  }
  return null
}

function segmentProblem(segment: string, isLast: boolean): string | null {
  if (segment === '*') return isLast ? null : '"*" must be the last segment: use :name in the middle'
  if (segment.startsWith(':') && !PARAM.test(segment)) {
    return `${quote(segment)} is not a parameter: write ":" and letters, digits or "_"; for a literal colon write %3A`
  }
  if (segment.includes('*'))
    return `${quote(segment)} mixes "*" with text: write "*" alone as the last segment, or :name`
  if (/[?#]/.test(segment)) return `${quote(segment)} holds "?" or "#": only the path is matched, remove the rest`
  return escapesProblem(segment)
}

function escapesProblem(segment: string): string | null {
  const decoded = decode(segment)
  if (decoded === null) return `${quote(segment)} has a bad percent escape: write %XX in UTF-8, and %25 for "%"`
  if (decoded === '.' || decoded === '..')
    return `${quote(segment)} never matches: requests with such a segment are refused`
  if (/[\\\x00-\x1f\x7f-\x9f]/.test(decoded)) {
    return `${quote(segment)} never matches: requests with a backslash or control character in the path are refused`
  }
  return null
}

function decode(segment: string): string | null {
  try {
    return segment.isWellFormed() ? decodeURIComponent(segment) : null
  } catch {
    return null
  }
}

function toSegment(segment: string): Segment {
  if (segment === '*') return { kind: 'rest' }
  return segment.startsWith(':') ? { kind: 'param', name: segment.slice(1) } : { kind: 'literal', text: segment }
}
