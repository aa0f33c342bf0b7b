import { canonicalLiteral } from '../../routing/target.ts'
import type { Segment } from '../config.ts'
import { type Finding, type Path, quote } from '../problems.ts'
import { type Lookup, matches, type NumberedRule, otherRules } from './lookup.ts'

/**
 * Warns of rules that no request reaches, and of public rules for preflights that a charged rule takes preflights from.
 * @param chargesPreflights whether a charged rule for all methods refuses preflights, as without `cors` and `auth.anonymous`
 */
export function checkHidden(
  lookup: Lookup,
  lineOf: (path: Path) => number | null,
  chargesPreflights: boolean,
): Finding[] {
  const nameOf = ({ index, match }: NumberedRule) =>
    `${quote(match.match)} (line ${lineOf(['routes', index, 'match'])})`
  return lookup.rules.flatMap((rule): Finding[] => {
    // A preflight rule that is hidden completely gets both warnings. One names the rule to add, the other says that this one can go.
    const messages = [
      chargesPreflights ? chargedPreflight(rule, lookup, nameOf) : null,
      refused(rule, lookup) ?? tooLong(rule, lookup) ?? hidden(rule, lookup, nameOf),
    ].filter((message) => message !== null)
    return messages.map((message) => ({ path: ['routes', rule.index, 'match'], severity: 'warning', message }))
  })
}

/** Spellings that `edge.allow_in_path` can allow have a warning of their own. */
const ALLOWED_BY_NAME = new Set(['target_escaped_slash', 'target_empty_segment', 'target_semicolon'])

function refused(rule: NumberedRule, lookup: Lookup): string | null {
  const [path = '/'] = lookup.samples(rule)
  const refused = lookup.refusal(path)
  if (refused === null || ALLOWED_BY_NAME.has(refused.code)) return null
  return `never matches: ${path} gets 400. ${refused.problem.replace(/\.$/, '')}: change it`
}

function tooLong({ match }: NumberedRule, { maxUrl }: Lookup): string | null {
  const shortest = match.segments.reduce((length, segment) => length + 1 + shortestOf(segment), 0)
  if (shortest <= maxUrl) return null
  return `never matches: its shortest path has ${shortest} characters, edge.max_url is ${maxUrl}: raise that, or change the path`
}

/** An escape counts as one character, because the gateway also accepts some characters without escaping. */
function shortestOf(segment: Segment): number {
  if (segment.kind === 'literal') return canonicalLiteral(segment.text).replaceAll(/%../g, '%').length
  return segment.kind === 'param' ? 1 : 0
}

type NameOf = (rule: NumberedRule) => string

/** Only a rule that ends in `*` can be hidden completely, by rules for every number of segments. */
function hidden(rule: NumberedRule, lookup: Lookup, nameOf: NameOf): string | null {
  if (rule.match.segments.at(-1)?.kind !== 'rest') return null
  const asked = rule.match.methods === '*' ? lookup.methods : rule.match.methods
  if (asked.some((method) => lookup.own(rule, method) !== null)) return null
  const found = new Set([...lookup.samples(rule)].flatMap((path) => asked.map((method) => lookup.find(method, path))))
  const hiders = [...found].filter((each) => each !== null && each !== 'unmatched')
  const [first] = hiders
  if (first === undefined) return null
  const others = hiders.length === 1 ? '' : ` and ${otherRules(hiders.length - 1)}`
  return `never matches: ${nameOf(first)}${others} take every request. Remove it, or name other methods there`
}

/** A browser sends no credential with a preflight. */
function chargedPreflight(rule: NumberedRule, lookup: Lookup, nameOf: NameOf): string | null {
  if (!rule.public || rule.match.methods === '*' || !rule.match.methods.includes('OPTIONS')) return null
  const taken = lookup.rules.flatMap((other) => {
    if (other.public !== false || other.match.methods !== '*') return []
    const path = lookup.own(other, 'OPTIONS')
    return path !== null && matches(rule, path) ? [[other, path] as const] : []
  })
  if (taken[0] === undefined) return null
  const [first, path] = taken[0]
  const shape = first.match.match.replace(/^\S+ +/, '')
  const others = taken.length === 1 ? '' : `, and likewise for ${otherRules(taken.length - 1)}`
  return `OPTIONS ${path} is matched by ${nameOf(first)}, so a browser's preflight gets 401: add { match: ${quote(`OPTIONS ${shape}`)}, public: true }${others}`
}
