import type { Salvage } from '../partial.ts'
import type { Finding, Path } from '../problems.ts'
import { counted, type Lookup, type NumberedRule } from './lookup.ts'

/**
 * Warns of a request that costs less in another spelling of its path. Many services take `/v1/CHARGE` and `/v1/charge/` for
 * `/v1/charge`, and the route map tells them apart. The cost of each spelling is looked up as the gateway does it.
 * One warning for each rule that is too cheap, with the request that saves most.
 */
export function checkSpellings(
  { unmatched = { kind: 'refuse' } }: Pick<Salvage, 'unmatched'>,
  lookup: Lookup,
  lineOf: (path: Path) => number | null,
): Finding[] {
  const savings = new Map<Place, Saving[]>()
  for (const rule of lookup.rules) {
    for (const [place, saving] of savingsOn(rule, priceOf(rule), unmatched, lookup)) {
      savings.set(place, [...(savings.get(place) ?? []), saving])
    }
  }
  return [...savings].map(([place, all]) => ({
    path: place === 'unmatched' ? ['unmatched'] : ['routes', place.index, 'match'],
    severity: 'warning',
    message: sentence(place, all, lineOf),
  }))
}

type Place = NumberedRule | 'unmatched'

interface Saving {
  /** The dear rule, and the requests that it would match in the spelling of its own. */
  readonly rule: NumberedRule
  readonly requests: readonly string[]
  readonly costs: number
  /** What the requests cost instead; `OPEN` if they need no credential either. */
  readonly instead: number
  readonly ignored: ReadonlySet<Ignored>
}

type Ignored = 'letter case' | 'a final slash'

/** Costs nothing, and asks for no credential. */
const OPEN = -1

/** The most that a rule takes: a body chooses among its costs in any spelling of the path. */
function priceOf({ public: isPublic, cost }: Pick<NumberedRule, 'public' | 'cost'>): number {
  if (isPublic) return OPEN
  return cost?.kind === 'body' ? Math.max(...cost.values.values()) : (cost?.cost ?? 1)
}

function priceAt(place: Place, unmatched: NonNullable<Salvage['unmatched']>): number | null {
  if (place !== 'unmatched') return priceOf(place)
  if (unmatched.kind === 'refuse') return null
  return unmatched.kind === 'forward' ? OPEN : priceOf({ cost: unmatched.cost })
}

/** For each place that takes less, the cheapest spellings of one method. */
function savingsOn(
  rule: NumberedRule,
  costs: number,
  unmatched: NonNullable<Salvage['unmatched']>,
  lookup: Lookup,
): Map<Place, Saving> {
  const found = new Map<Place, Saving>()
  for (const method of rule.match.methods === '*' ? lookup.methods : rule.match.methods) {
    const written = lookup.own(rule, method)
    if (written === null) continue
    for (const [path, ignored] of spellingsOf(written)) {
      const place = lookup.find(method, path)
      const instead = place === null || place === rule ? null : priceAt(place, unmatched)
      if (place === null || instead === null || instead >= costs || isPreflight(method, place)) continue
      const known = found.get(place)
      if (known === undefined) {
        found.set(place, { rule, requests: [`${method} ${path}`], costs, instead, ignored: new Set([ignored]) })
      } else if (!known.ignored.has(ignored) && known.requests[0]?.startsWith(`${method} `)) {
        const requests = [...known.requests, `${method} ${path}`]
        found.set(place, { ...known, requests, ignored: new Set([...known.ignored, ignored]) })
      }
    }
  }
  return found
}

/** What browsers ask without a credential is open on purpose. */
function isPreflight(method: string, place: Place): boolean {
  return method === 'OPTIONS' && place !== 'unmatched' && place.public === true && place.match.methods !== '*'
}

/** Those with one difference, from the end of the path. */
function spellingsOf(path: string): [path: string, ignored: Ignored][] {
  const segments = path.split('/')
  const cases = segments.flatMap((segment, i) =>
    [toCase(segment, 'upper'), toCase(segment, 'lower')]
      .filter((other) => other !== segment)
      .map((other) => segments.with(i, other).join('/')),
  )
  const slash = path.endsWith('/') ? path.slice(0, -1) : `${path}/`
  return [
    ...cases.reverse().map((other): [string, Ignored] => [other, 'letter case']),
    ...(slash === '' ? [] : [[slash, 'a final slash'] satisfies [string, Ignored]]),
  ]
}

/** Of letters that are not those of an escape. */
function toCase(segment: string, to: 'upper' | 'lower'): string {
  return segment.replace(/%..|[A-Za-z]/g, (text) => {
    if (text.length > 1) return text
    return to === 'upper' ? text.toUpperCase() : text.toLowerCase()
  })
}

function sentence(place: Place, all: readonly Saving[], lineOf: (path: Path) => number | null): string {
  const [most, ...others] = all.toSorted((a, b) => b.costs - b.instead - (a.costs - a.instead)) as [Saving, ...Saving[]]
  const { rule, requests, costs, instead } = most
  const takes = instead === OPEN ? 'cost nothing and need no credential' : `cost ${instead}`
  const upTo = rule.cost?.kind === 'body' ? 'up to ' : ''
  const dear = `${upTo}${costs} (${rule.match.match}, line ${lineOf(['routes', rule.index, 'match'])})`
  const more = others.length === 0 ? '' : ` So would spellings of ${counted(others.length)}.`
  const ignored = [...new Set(all.flatMap((saving) => [...saving.ignored]))].join(' or ')
  const cure = place === 'unmatched' ? 'write unmatched: refuse' : 'name only the paths that are meant'
  return `${requests.join(' and ')} would ${takes} here instead of ${dear}.${more} If the upstream ignores ${ignored}, charge as much here, or ${cure}`
}
