import { didYouMean } from '../../suggest.ts'
import { shapeOf } from '../pattern.ts'
import { type Finding, formatPath, type Path, quote } from '../problems.ts'
import type { ParsedRoute, Salvage } from '../salvage.ts'

type Rule = Partial<ParsedRoute>

/** The rules of the route map, each by itself and together. @param lineOf the line of a path in the file */
export function checkRoutes(parsed: Salvage, lineOf: (path: Path) => number | null): Finding[] {
  const { routes, unmatched, edge } = parsed
  const { categories } = parsed.names
  const findings: Finding[] = []
  for (const [i, route] of routes.entries()) {
    const path = ['routes', i]
    findings.push(
      ...checkAccess(route, path),
      ...checkReach(route, path, edge.allow_in_path),
      ...checkBody(route, path),
    )
    findings.push(...checkCategory(route.category, path, categories))
  }
  if (typeof unmatched === 'object') findings.push(...checkCategory(unmatched.category, ['unmatched'], categories))
  return [...findings, ...checkShapes(routes, lineOf)]
}

function checkAccess(route: Rule, path: Path): Finding[] {
  if (route.public === undefined) return []
  if (!route.public) {
    const isBare = 'category' in route && route.category === undefined
    const message = 'has neither category nor public: add category (and cost), or public: true'
    return isBare ? [{ path, message }] : []
  }
  return (['category', 'cost', 'shadow'] as const)
    .filter((key) => route[key] !== undefined && route[key] !== false)
    .map((key) => ({ path, key, message: `${key} has no meaning in a public rule: remove it, or remove public` }))
}

function checkCategory(category: string | undefined, path: Path, known: readonly string[] | null): Finding[] {
  if (category === undefined || known === null || known.includes(category)) return []
  const cure = didYouMean(category, known) || `; there are ${known.join(', ')}, add it to quota.baselines or choose one`
  return [{ path: [...path, 'category'], message: `unknown category ${quote(category)}${cure}` }]
}

/** Requests of methods without a body would all be refused. */
function checkBody({ cost, match }: Rule, path: Path): Finding[] {
  if (typeof cost !== 'object' || match === undefined) return []
  const bodiless =
    match.methods === '*' ? ['GET', 'HEAD'] : match.methods.filter((method) => /^(?:GET|HEAD)$/.test(method))
  if (bodiless.length === 0) return []
  const all = match.methods !== '*' && bodiless.length === match.methods.length
  const message = `${bodiless.join(' and ')} requests have no body to price and get 400: give them a rule of their own`
  return [{ path: [...path, 'cost'], message, severity: all ? 'problem' : 'warning' }]
}

/** Rules that no request ever reaches. */
function checkReach({ match }: Rule, path: Path, allowed: Salvage['edge']['allow_in_path']): Finding[] {
  if (match === undefined) return []
  const at = { path: [...path, 'match'], severity: 'warning' } as const
  const literals = match.segments.map((segment) => (segment.kind === 'literal' ? segment.text : 'x'))
  const written = literals.join('/')
  const asksForGet = match.methods === '*' || match.methods.includes('GET')
  if (asksForGet && (written === 'quota' || written === 'me/quota')) {
    return [
      { ...at, message: 'the gateway answers GET of this path itself, with the quota of the caller: take another' },
    ]
  }
  const missing = [
    [/%2f/i.test(written), 'encoded_slash'] as const,
    [/;|%3b/i.test(written), 'semicolon'] as const,
    [literals.slice(0, -1).includes(''), 'empty_segment'] as const,
  ].filter(([found, name]) => found && allowed !== undefined && !allowed.includes(name))
  return missing.map(([, name]) => ({
    ...at,
    message: `never matches: add ${name} to edge.allow_in_path, or change the path`,
  }))
}

function checkShapes(routes: Salvage['routes'], lineOf: (path: Path) => number | null): Finding[] {
  const taken = new Map<string, number>()
  const findings: Finding[] = []
  for (const [i, { match }] of routes.entries()) {
    if (match === undefined) continue
    const shape = shapeOf(match)
    const claims = match.methods === '*' ? ['*'] : match.methods
    const rivals = new Set(
      claims.map((method) => taken.get(`${method} ${shape}`)).filter((rival) => rival !== undefined),
    )
    for (const rival of rivals) findings.push({ path: ['routes', i, 'match'], message: clash(rival, i, lineOf) })
    for (const method of claims) if (!taken.has(`${method} ${shape}`)) taken.set(`${method} ${shape}`, i)
  }
  return findings
}

function clash(rival: number, i: number, lineOf: (path: Path) => number | null): string {
  const [first, second] = [rival, i].map((index) => lineOf(['routes', index, 'match']))
  const place = formatPath(['routes', rival])
  return `lines ${first} and ${second} match the same requests (${place}): remove one, or change its path or methods`
}
