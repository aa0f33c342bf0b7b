import { type Configured, credentialPlaces, type FieldInput, fieldInputs } from '../../inputs/inputs.ts'
import { cheapest, dearest, type Price, partsOf } from '../../inputs/price.ts'
import { foldedName } from '../../lib/field-names.ts'
import { foldedParameter } from '../../lib/parameter-names.ts'
import { didYouMean } from '../../lib/suggest.ts'
import { PUBLIC_PATHS, STATUS_PATHS, USAGE_PATH } from '../../quota/own-paths.ts'
import { EXACT } from '../../routing/folding.ts'
import { shapeText } from '../../routing/route-table.ts'
import { canonicalLiteral } from '../../routing/target.ts'
import type { ParsedRoute, PartialConfig } from '../partial.ts'
import { type Finding, formatPath, type Path, quote } from '../problems.ts'
import { foldingOf } from '../schema/listen.ts'
import { isCharged, metersOf, type WrittenMeter } from './meters.ts'

type Rule = Partial<ParsedRoute>

/** Checks the rules of the route map, alone and together. @param lineOf the line of a path in the file */
export function checkRoutes(parsed: PartialConfig, lineOf: (path: Path) => number | null): Finding[] {
  const { routes, unmatched, edge } = parsed
  const configured = configuredIn(parsed)
  const inputs = fieldInputs(configured)
  const own = ownPaths(parsed.published)
  const { categories } = parsed.names
  const about = { categories, configured, inputs }
  const findings: Finding[] = []
  for (const [i, route] of routes.entries()) {
    const path = ['routes', i]
    findings.push(
      ...checkAccess(route, path),
      ...checkReach(route, path, edge.allow_in_path, own),
      ...checkTunnel(route, path),
      ...checkRepetition(route, path),
      ...checkKey(route, path, inputs),
      ...checkLiterals(route, path),
      ...checkMeters(metersOf(route, path), route.match, about),
    )
  }
  if (unmatched?.kind === 'charge') findings.push(...checkMeters(metersOf(unmatched, ['unmatched']), undefined, about))
  return [...findings, ...checkShapes(parsed, lineOf)]
}

/** The other parts of the file that meters must fit. */
interface About {
  readonly categories: readonly string[] | null
  readonly configured: Configured
  readonly inputs: readonly FieldInput[]
}

function checkMeters(meters: readonly WrittenMeter[], match: Rule['match'], about: About): Finding[] {
  const own = meters.flatMap((meter) => [
    ...checkSettle(meter),
    ...checkBody(meter, match),
    ...checkPatterns(meter),
    ...checkPricedFields(meter, about),
    ...checkCategory(meter, about.categories),
    ...checkKeyOf(meter, meters),
  ])
  return [...checkTogether(meters), ...own]
}

/** A rule of one price also applies between meters: a price from a query cannot be beside one from a body. */
function checkTogether(meters: readonly WrittenMeter[]): Finding[] {
  const [first, ...others] = meters
  if (first === undefined || others.length === 0) return []
  const kinds = new Set(
    meters.flatMap(({ cost }) => (cost === undefined ? [] : partsOf(cost))).map(({ source }) => source.kind),
  )
  if (!kinds.has('query') || !(kinds.has('body') || kinds.has('size'))) return []
  const message =
    'read the query in one category and the body in another, and where the query is priced no request may have a body: read one of them'
  return [{ path: first.path.slice(0, -1), message }]
}

/** The form of a key in a dictionary of RFC 9651. */
const DICTIONARY_KEY = /^[a-z][a-z0-9_-]*$/

/** X-Tollgate-Charged contains the cost of each meter under the name of its category. */
function checkKeyOf({ category = '', path }: WrittenMeter, meters: readonly WrittenMeter[]): Finding[] {
  if (meters.length === 1 || DICTIONARY_KEY.test(category) || meters.every(({ settle }) => settle == null)) return []
  const message = `${quote(category)} is no name in X-Tollgate-Charged: begin it with a small letter, and write no capital letters`
  return [{ path: path.slice(0, -1), key: category, message }]
}

function checkAccess(route: Rule, path: Path): Finding[] {
  if (route.public === undefined) return []
  if (!route.public) {
    const isBare = (['category', 'charges'] as const).every((key) => key in route && route[key] === undefined)
    const message = 'has neither category nor public: add category (and cost), or public: true'
    return isBare ? [{ path, message }] : []
  }
  return (['category', 'cost', 'charges', 'anonymous', 'shadow', 'tunnel_charge', 'settle', 'idempotency'] as const)
    .filter((key) => route[key] !== undefined && route[key] !== false)
    .map((key) => ({ path, key, message: `${key} has no meaning in a public rule: remove it, or remove public` }))
}

function checkCategory({ category, path, costAt }: WrittenMeter, known: readonly string[] | null): Finding[] {
  if (category === undefined || known === null || known.includes(category)) return []
  const are = known.length === 1 ? 'is' : 'are'
  const cure =
    didYouMean(category, known) || `; there ${are} ${known.join(', ')}, add it to quota.baselines or choose one`
  const place = path === costAt ? { path: path.slice(0, -1), key: category } : { path: [...path, 'category'] }
  return [{ ...place, message: `unknown category ${quote(category)}${cure}` }]
}

/** A price from the body refuses requests of methods that have none, and a price from the query refuses requests with a body. */
function checkBody({ cost, path }: WrittenMeter, match: Rule['match']): Finding[] {
  if (cost?.kind !== 'asked' || match === undefined) return []
  const { source, otherwise } = cost
  if (source.kind === 'query') return checkBodies(match.methods, path)
  if (source.kind !== 'body' || otherwise !== null) return []
  const bodiless =
    match.methods === '*' ? ['GET', 'HEAD'] : match.methods.filter((method) => /^(?:GET|HEAD)$/.test(method))
  if (bodiless.length === 0) return []
  const all = match.methods !== '*' && bodiless.length === match.methods.length
  const message = `${bodiless.join(' and ')} requests have no body to price and get 400: give them a rule of their own`
  return [{ path: [...path, 'cost'], message, severity: all ? 'problem' : 'warning' }]
}

/** If a query is priced, no request may have a body, because many frameworks read both together. */
function checkBodies(methods: '*' | readonly string[], path: Path): Finding[] {
  const usual = methods === '*' ? ['POST'] : methods.filter((method) => /^(?:POST|PUT|PATCH)$/.test(method))
  if (usual.length === 0) return []
  const message = `${usual.join(' and ')} requests with a body get 400, which could name the parameter too: price what the body says, or give them a rule of their own`
  return [{ path: [...path, 'cost', 'query'], message, severity: 'warning' }]
}

/** An open WebSocket can only repeat a number of tokens, because its request is priced only once. */
function checkTunnel(route: Rule, path: Path): Finding[] {
  const { tunnel_charge: every, match } = route
  if (every === undefined) return []
  const meters = metersOf(route)
  const at = [...path, 'tunnel_charge']
  if (meters.some(({ cost }) => cost?.kind === 'asked') || !meters.some(isCharged)) {
    return [{ path: at, message: 'repeats a cost in tokens, and there is none: add cost: 1 or more, or remove it' }]
  }
  if (match === undefined || match.methods === '*' || match.methods.includes('GET')) return []
  return [{ path: at, message: 'is for WebSockets, which begin with GET: add GET to the methods, or remove it' }]
}

/** Without a cost there is no charge that a response could correct. */
function checkSettle({ settle, cost, path }: WrittenMeter): Finding[] {
  if (settle == null || cost === undefined) return []
  if (cost.kind === 'fixed' && cost.cost === 0) {
    const message = 'corrects a cost, and there is none: add cost: 1 or more, or remove it'
    return [{ path: [...path, 'settle'], message }]
  }
  return [...checkFree(cost, path), ...checkMost(settle, cost, path)]
}

/** A client would choose the request that costs nothing, whatever the response says. */
function checkFree(cost: Price, path: Path): Finding[] {
  const free = freeAt(cost)
  if (free === null) return []
  const message =
    'is 0, so settle corrects nothing there, whatever the response says: write 1 or more, unless such a request is free'
  return [{ path: [...path, 'cost', ...free], severity: 'warning', message }]
}

/** The path of the first key by which a request may cost nothing; `null` if there is none. */
function freeAt(price: Price): Path | null {
  if (price.kind === 'fixed') return price.cost === 0 ? [] : null
  const { reading, otherwise } = price
  if (reading.kind !== 'values') return reading.min === 0 ? ['min'] : otherwise === 0 ? ['missing'] : null
  for (const [value, each] of reading.values) {
    const at = freeAt(each)
    if (at !== null) return ['values', value, ...at]
  }
  return otherwise === 0 ? ['otherwise'] : null
}

/** `max` must have room for the reserve. If it allows far more than the reserve, clients gain by leaving before the end. */
function checkMost({ source, reading }: NonNullable<WrittenMeter['settle']>, cost: Price, path: Path): Finding[] {
  if (source === null || !('max' in reading)) return []
  const { max } = reading
  const [least, most] = [cheapest(cost), dearest(cost)]
  const at = { path: [...path, 'settle', 'max'], severity: 'warning' } as const
  if (max < most) {
    const message = `${max} is below the cost, ${most}, which a request needs room for and which one without a number costs: raise it, or lower the cost`
    return [{ ...at, message }]
  }
  if (source.kind !== 'json' || least === 0 || max < FAR * least) return []
  const message = `${max} is ${FAR} times the cost, ${least}, or more, and whoever leaves before the end of the response pays the cost: raise the cost, at best to what a usual request takes`
  return [{ ...at, message }]
}

/** From this multiple of the reserve on, a client may gain much by leaving early. */
const FAR = 100

/** If requests cost nothing, repetitions are free anyway. */
function checkRepetition(route: Rule, path: Path): Finding[] {
  if (route.idempotency === undefined || metersOf(route).some(isCharged)) return []
  const message = 'is for requests that are charged, and these cost nothing: add cost: 1 or more, or remove it'
  return [{ path: [...path, 'idempotency'], message }]
}

/** A repetition is free because the upstream recognises it by the key. Without the key it would do the work again. */
function checkKey({ idempotency }: Rule, path: Path, inputs: readonly FieldInput[]): Finding[] {
  if (idempotency === undefined) return []
  const { header } = idempotency
  const other = inputs.find(({ name }) => name === foldedName(header))
  if (other === undefined) return []
  const at = [...path, 'idempotency', 'header']
  if (other.use === 'read') {
    return [{ path: at, message: `${header} says who asks, by ${other.key}: take a name like Idempotency-Key` }]
  }
  const message = `the upstream never gets ${header} of a client, which stands in ${other.key}, and serves each repetition anew for nothing: remove it there`
  return [{ path: at, message }]
}

/** The inputs in the file, without the keys of repetitions. */
function configuredIn({ auth, upstream }: PartialConfig): Configured {
  const { headers, identity, quota_field: quotaField, remove_headers: removeHeaders } = upstream
  const { from, trusted, unverified_keys: unverifiedKeys } = auth
  return {
    from,
    trusted,
    unverifiedKeys,
    headers: headers?.keys(),
    identity: identity?.keys(),
    quotaField,
    removeHeaders,
  }
}

/** Values are plain texts, not patterns. */
function checkPatterns({ cost, path }: WrittenMeter): Finding[] {
  if (cost?.kind !== 'asked' || cost.reading.kind !== 'values' || !cost.reading.values.has('*')) return []
  const others =
    cost.otherwise === null ? 'each of which gets 400: write every value, or otherwise' : 'which cost otherwise'
  const message = `"*" is one value and does not stand for the others, ${others}`
  return [{ path: [...path, 'cost', 'values', '*'], severity: 'warning', message }]
}

/** A field that the upstream does not get cannot decide what is served. */
function checkPricedFields({ cost, path }: WrittenMeter, { configured, inputs }: About): Finding[] {
  if (cost === undefined) return []
  const { parameters } = credentialPlaces(configured)
  return partsOf(cost).flatMap(({ source }): Finding[] => {
    if (source.kind === 'query' && parameters.some((name) => foldedParameter(name) === foldedParameter(source.name))) {
      const message = `${source.name} is a credential by auth.from, so the upstream never gets it: name another parameter`
      return [{ path: [...path, 'cost'], message }]
    }
    const other = source.kind === 'header' ? inputs.find(({ name }) => name === foldedName(source.name)) : undefined
    if (source.kind !== 'header' || other === undefined) return []
    const message =
      other.use === 'read'
        ? `${source.name} says who asks, by ${other.key}: take a name like X-Units`
        : `the upstream never gets ${source.name} of a client, which stands in ${other.key}: remove it there`
    return [{ path: [...path, 'cost'], message }]
  })
}

/**
 * Characters of regular expressions and placeholders. `.`, `)`, `+` and `$` also occur in paths such as `/$batch` and
 * `/c++`, so they count only in combinations that hardly any path has.
 */
const NO_LITERAL = /[[\]|^{}<>]|[.)]\+|.\$$/

/** Finds literals that look like a pattern of another router. */
function checkLiterals({ match }: Rule, path: Path): Finding[] {
  const odd = match?.segments.find((segment) => segment.kind === 'literal' && NO_LITERAL.test(segment.text))
  if (match === undefined || odd?.kind !== 'literal') return []
  const only = match.segments.map((segment) =>
    segment.kind === 'literal' ? canonicalLiteral(segment.text) : segment.kind === 'param' ? `:${segment.name}` : '*',
  )
  const message = `${quote(odd.text)} is compared letter by letter, so this matches /${only.join('/')} only: write :name for any text, or percent-encode what is meant as it stands`
  return [{ path: [...path, 'match'], severity: 'warning', message }]
}

/** The paths to which the gateway itself responds, each with the end of the warning about a rule for it. */
function ownPaths(published: PartialConfig['published']): ReadonlyMap<string, string> {
  const named = { failureRate: published.failure_rate, prices: published.prices }
  const keys = (Object.keys(PUBLIC_PATHS) as (keyof typeof named)[]).filter((key) => named[key] === true)
  return new Map([
    ...[...STATUS_PATHS].map((path) => [path, 'with the quota of the caller: take another'] as const),
    [USAGE_PATH, 'with what the caller used: take another'] as const,
    ...keys.map((key) => [PUBLIC_PATHS[key], `as public.${KEYS[key]} says: take another, or leave that off`] as const),
  ])
}

const KEYS = { failureRate: 'failure_rate', prices: 'prices' } as const

/** Finds rules that no request ever reaches. */
function checkReach(
  { match }: Rule,
  path: Path,
  allowed: PartialConfig['edge']['allow_in_path'],
  own: ReadonlyMap<string, string>,
): Finding[] {
  if (match === undefined) return []
  const at = { path: [...path, 'match'], severity: 'warning' } as const
  const literals = match.segments.map((segment) => (segment.kind === 'literal' ? segment.text : 'x'))
  const written = literals.join('/')
  const asksForGet = match.methods === '*' || match.methods.includes('GET')
  const taken = asksForGet ? own.get(`/${written}`) : undefined
  if (taken !== undefined) return [{ ...at, message: `the gateway answers GET of this path itself, ${taken}` }]
  const missing = [
    [/%2f/i.test(written) && allowed?.encodedSlash === false, 'encoded_slash'] as const,
    [/;|%3b/i.test(written) && allowed?.semicolon === false, 'semicolon'] as const,
    [literals.slice(0, -1).includes('') && allowed?.emptySegment === false, 'empty_segment'] as const,
  ].filter(([isMissing]) => isMissing)
  return missing.map(([, name]) => ({
    ...at,
    message: `never matches: add ${name} to edge.allow_in_path, or change the path`,
  }))
}

function checkShapes({ routes, edge }: PartialConfig, lineOf: (path: Path) => number | null): Finding[] {
  const folding = foldingOf(edge.match)
  const taken = new Map<string, number>()
  const findings: Finding[] = []
  const clash = (rival: number, i: number) => {
    const [first, second] = [rival, i].map((index) => lineOf(['routes', index, 'match']))
    const [one, other] = [rival, i].map((index) => exactShape(routes[index]?.match))
    const why = one === other ? '' : ', as edge.match has it'
    return `lines ${first} and ${second} match the same requests (${formatPath(['routes', rival])})${why}: remove one, or change its path or methods`
  }
  for (const [i, { match }] of routes.entries()) {
    if (match === undefined) continue
    const shape = shapeText(match, folding)
    const claims = match.methods === '*' ? ['*'] : match.methods
    const rivals = new Set(
      claims.map((method) => taken.get(`${method} ${shape}`)).filter((rival) => rival !== undefined),
    )
    for (const rival of rivals) findings.push({ path: ['routes', i, 'match'], message: clash(rival, i) })
    for (const method of claims) if (!taken.has(`${method} ${shape}`)) taken.set(`${method} ${shape}`, i)
  }
  return findings
}

function exactShape(match: Rule['match']): string | null {
  return match === undefined ? null : shapeText(match, EXACT)
}
