import { dearest } from '../../inputs/price.ts'
import type { PartialConfig } from '../partial.ts'
import type { Finding, Path } from '../problems.ts'
import { type Lookup, type NumberedRule, otherRules } from './lookup.ts'
import { metersOf } from './meters.ts'

/**
 * Warns of a request that costs less in another spelling of its path. Many services take `/v1/CHARGE` and `/v1/charge/`
 * for `/v1/charge`, but the route map keeps them apart unless `edge.match` says otherwise. Each spelling is looked up
 * like in the gateway. There is one warning for each rule that is too cheap, with the request that saves most, and one
 * for each of `edge.lenient`.
 */
export function checkSpellings(parsed: Parsed, lookup: Lookup, lineOf: (path: Path) => number | null): Finding[] {
  const { edge } = parsed
  const unsaid = FOLDS.filter(({ key }) => edge.match[key] === undefined)
  const cheap = savingsBy(unsaid, parsed, lookup)
  const findings = [...cheap].map(([place, all]): Finding => {
    const path = place === 'unmatched' ? ['unmatched'] : ['routes', place.index, 'match']
    return { path, severity: 'warning', message: `${sentence(all, 'here', lineOf)} ${cureOf(place, all)}` }
  })
  const ofLenient = (edge.lenient ?? []).flatMap((name, i): Finding[] => {
    const kinds = READ_AGAIN.filter(({ key }) => key === name)
    const all = [...savingsBy(kinds, parsed, lookup).values()].flat()
    if (all.length === 0) return []
    const message = `${sentence(all, 'so', lineOf)} If the upstream ${kinds[0]?.ignores}, take ${name} off edge.lenient`
    return [{ path: ['edge', 'lenient', i], severity: 'warning', message }]
  })
  return [...findings, ...ofLenient]
}

type Parsed = Pick<PartialConfig, 'unmatched' | 'edge'>
type Place = NumberedRule | 'unmatched'

/** A way in which services take two paths for the same. */
interface Kind {
  /** A key of `edge.match`, or a name of `edge.lenient`. */
  readonly key: string
  /** Text for a sentence. */
  readonly ignores: string
  /** Spellings with one difference, from the end of the path. */
  readonly spellings: (segments: readonly string[]) => string[]
}

/** What `edge.match` can fold, with the value that does it. */
const FOLDS = [
  { key: 'case', value: 'fold', ignores: 'letter case', spellings: (of) => eachOf(of, otherCases).reverse() },
  { key: 'trailing_slash', value: 'ignore', ignores: 'a final slash', spellings: otherSlash },
  {
    key: 'trailing_dots',
    value: 'ignore',
    ignores: 'final dots',
    spellings: (of) => eachOf(of, (segment) => [`${segment}.`]).reverse(),
  },
] as const satisfies (Kind & { value: string })[]

/** How services read spellings that `edge.lenient` lets pass. */
const READ_AGAIN: readonly Kind[] = [
  {
    key: 'encoded_percent',
    ignores: 'decodes a path twice',
    spellings: (of) => eachOf(of, escapedTwice).reverse(),
  },
  {
    key: 'encoded_backslash',
    ignores: 'takes a backslash for a slash',
    spellings: (of) => (of.length > 2 ? [`${of.slice(0, -1).join('/')}%5C${of.at(-1)}`] : []),
  },
]

interface Saving {
  /** The expensive rule, and the requests that match it in its own spelling. */
  readonly rule: NumberedRule
  readonly requests: readonly string[]
  readonly costs: number
  /** What the requests cost in the other spelling; `OPEN` if they need no credential either. */
  readonly instead: number
  readonly kinds: ReadonlySet<Kind>
}

function savingsBy(kinds: readonly Kind[], { unmatched = { kind: 'refuse' } }: Parsed, lookup: Lookup) {
  const savings = new Map<Place, Saving[]>()
  for (const rule of lookup.rules) {
    for (const [place, saving] of savingsOn(rule, kinds, unmatched, lookup)) {
      savings.set(place, [...(savings.get(place) ?? []), saving])
    }
  }
  return savings
}

/** Without a cost and without a credential. */
const OPEN = -1

/** The highest cost of a rule in all meters, because a body chooses among its costs in any spelling of the path. */
function priceOf({
  public: isPublic,
  ...meters
}: Pick<NumberedRule, 'public'> & Parameters<typeof metersOf>[0]): number {
  if (isPublic) return OPEN
  const costs = metersOf(meters).map(({ cost }) => (cost === undefined ? 1 : dearest(cost)))
  return costs.reduce((sum, cost) => sum + cost)
}

function priceAt(place: Place, unmatched: NonNullable<PartialConfig['unmatched']>): number | null {
  if (place !== 'unmatched') return priceOf(place)
  if (unmatched.kind === 'refuse') return null
  return unmatched.kind === 'forward' ? OPEN : priceOf(unmatched)
}

/** For each place with a lower cost, the spellings with one method that lead there, one of each kind. */
function savingsOn(
  rule: NumberedRule,
  kinds: readonly Kind[],
  unmatched: NonNullable<PartialConfig['unmatched']>,
  lookup: Lookup,
): Map<Place, Saving> {
  const costs = priceOf(rule)
  const found = new Map<Place, Saving>()
  for (const method of rule.match.methods === '*' ? lookup.methods : rule.match.methods) {
    const written = lookup.own(rule, method)
    if (written === null) continue
    for (const [kind, path] of spellingsOf(written, kinds)) {
      const place = lookup.find(method, path)
      const instead = place === null || place === rule ? null : priceAt(place, unmatched)
      if (place === null || instead === null || instead >= costs || isPreflight(method, place)) continue
      const known = found.get(place)
      const request = `${method} ${path}`
      if (known === undefined) found.set(place, { rule, requests: [request], costs, instead, kinds: new Set([kind]) })
      else if (!known.kinds.has(kind) && known.requests[0]?.startsWith(`${method} `)) {
        found.set(place, { ...known, requests: [...known.requests, request], kinds: new Set([...known.kinds, kind]) })
      }
    }
  }
  return found
}

/** Whether a public rule lets preflights of browsers pass without a credential on purpose. */
function isPreflight(method: string, place: Place): boolean {
  return method === 'OPTIONS' && place !== 'unmatched' && place.public === true && place.match.methods !== '*'
}

function spellingsOf(path: string, kinds: readonly Kind[]): [kind: Kind, path: string][] {
  const segments = path.split('/')
  return kinds.flatMap((kind) =>
    kind.spellings(segments).flatMap((other): [Kind, string][] => (other === path ? [] : [[kind, other]])),
  )
}

/** The path with another spelling for each segment in turn. */
function eachOf(segments: readonly string[], others: (segment: string) => string[]): string[] {
  return segments.flatMap((segment, i) =>
    segment === '' ? [] : others(segment).map((other) => segments.with(i, other).join('/')),
  )
}

function otherCases(segment: string): string[] {
  return [toCase(segment, 'upper'), toCase(segment, 'lower')].filter((other) => other !== segment)
}

/** Changes the case of letters outside of escapes. */
function toCase(segment: string, to: 'upper' | 'lower'): string {
  return segment.replace(/%..|[A-Za-z]/g, (text) => {
    if (text.length > 1) return text
    return to === 'upper' ? text.toUpperCase() : text.toLowerCase()
  })
}

function otherSlash(segments: readonly string[]): string[] {
  const path = segments.join('/')
  const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`
  return other === '' ? [] : [other]
}

/** Escapes the first letter twice, as `%2563` for `c`. */
function escapedTwice(segment: string): string[] {
  const code = segment.charCodeAt(0)
  return /^[A-Za-z0-9]/.test(segment) ? [`%25${code.toString(16)}${segment.slice(1)}`] : []
}

function sentence(all: readonly Saving[], where: 'here' | 'so', lineOf: (path: Path) => number | null): string {
  const [most, ...others] = all.toSorted((a, b) => b.costs - b.instead - (a.costs - a.instead)) as [Saving, ...Saving[]]
  const { rule, requests, costs, instead } = most
  const takes = instead === OPEN ? 'cost nothing and need no credential' : `cost ${instead}`
  const upTo = metersOf(rule).some(({ cost }) => cost?.kind === 'asked') ? 'up to ' : ''
  const dear = `${upTo}${costs} (${rule.match.match}, line ${lineOf(['routes', rule.index, 'match'])})`
  const more = others.length === 0 ? '' : ` So would spellings of ${otherRules(others.length)}.`
  return `${listed(requests, 'and')} would ${takes} ${where} instead of ${dear}.${more}`
}

function cureOf(place: Place, all: readonly Saving[]): string {
  const kinds = FOLDS.filter((kind) => all.some((saving) => saving.kinds.has(kind)))
  const ignored = listed(
    kinds.map(({ ignores }) => ignores),
    'or',
  )
  const folds = kinds.map(({ key, value }) => `${key}: ${value}`).join(', ')
  const cure = place === 'unmatched' ? 'write unmatched: refuse' : 'name only the paths that are meant'
  return `If the upstream ignores ${ignored}, write edge.match: { ${folds} }, charge as much here, or ${cure}; write exact for what it does not ignore`
}

function listed(texts: readonly string[], last: 'and' | 'or'): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} ${last} ${texts.at(-1)}`
}
