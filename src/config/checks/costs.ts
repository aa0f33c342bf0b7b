import type { Price } from '../../inputs/price.ts'
import type { Limits } from '../../quota/charge.ts'
import { createPolicy, type Policy } from '../../quota/policy.ts'
import type { PartialConfig } from '../partial.ts'
import { type Finding, type Path, quote } from '../problems.ts'
import { toWindows, windowsOf } from '../window-lengths.ts'
import { metersOf, type WrittenMeter } from './meters.ts'

interface Ceiling {
  /** The plan for whose users the limit holds. Default all callers. */
  readonly plan?: string
  readonly limit: number
  /** For example `personal limit of window 1h`. */
  readonly name: string
}

interface Ceilings {
  /** The lowest limit, at the highest factor of the mode. */
  readonly ever: Ceiling
  /** The lowest limit at the lowest factor. */
  readonly atWorst: Ceiling
  /** The lowest factor; `null` for a mode with only one factor. */
  readonly factor: number | null
}

/**
 * Warns of costs above a limit, because such a request is never accepted without an override. Only for quotas without
 * problems.
 */
export function checkCosts({ quota, routes, unmatched }: PartialConfig): Finding[] {
  const of = ceilingsOf(quota)
  if (of === null) return []
  const meters = routes.flatMap((route, i) => metersOf(route, ['routes', i]))
  if (unmatched?.kind === 'charge') meters.push(...metersOf(unmatched, ['unmatched']))
  return meters.flatMap((meter) => {
    const findings = checkCost(meter, of.everybody)
    return findings.length > 0 ? findings : checkCost(meter, of.plans)
  })
}

type CeilingsByCategory = ReadonlyMap<string, Ceilings>

/** The lowest limits by category: those of callers without a plan, and the lowest of all plans. `null` if the quota has problems. */
function ceilingsOf(
  quota: PartialConfig['quota'],
): { readonly everybody: CeilingsByCategory; readonly plans: CeilingsByCategory } | null {
  const { mode, baselines, custom, global, adaptive, plans } = quota
  if (mode === undefined || baselines === undefined || global === undefined) return null
  const windows = toWindows(windowsOf(quota))
  const settings = { mode, windows, baselines, custom: custom ?? null, global, ...(plans !== undefined && { plans }) }
  const [most, least] = [createPolicy(settings, adaptive?.max), createPolicy(settings, adaptive?.min)]
  const factor = mode === 'adaptive' && adaptive !== undefined ? adaptive.min : null
  const each = (of: (policy: Policy, category: string) => Ceiling[]): CeilingsByCategory =>
    new Map(
      most.categories.map((category) => [
        category,
        { ever: lowest(of(most, category)), atWorst: lowest(of(least, category)), factor },
      ]),
    )
  return {
    everybody: each((policy, category) => ceilingsIn(policy.limitsOf(category))),
    // A limit of 0 in a plan keeps its users from the category on purpose.
    plans: each((policy, category) =>
      policy.plans.flatMap((plan) =>
        ceilingsIn(policy.limitsOf(category, plan), plan).filter(({ limit }) => limit > 0),
      ),
    ),
  }
}

function ceilingsIn(limits: Limits, plan?: string): Ceiling[] {
  return (['personal', 'organisation', 'global'] as const).flatMap((scope) =>
    (limits[scope] ?? []).map(({ window, limit, over }) => ({
      limit,
      name: `${scope} limit${over === undefined ? '' : ', with what is over,'} of window ${window.name}`,
      ...(plan !== undefined && { plan }),
    })),
  )
}

function lowest(all: readonly Ceiling[]): Ceiling {
  return all.reduce((least, next) => (next.limit < least.limit ? next : least), {
    limit: Number.POSITIVE_INFINITY,
    name: '',
  })
}

function checkCost({ category, cost, path, costAt }: WrittenMeter, ceilings: ReadonlyMap<string, Ceilings>): Finding[] {
  const of = category === undefined ? undefined : ceilings.get(category)
  if (of === undefined) return []
  const placed = cost?.kind === 'asked' ? [...path, 'cost'] : costAt
  const costs: (readonly [number, Path])[] = cost === undefined ? [[1, placed]] : placedCosts(cost, placed)
  return costs
    .filter(([tokens]) => tokens > of.atWorst.limit)
    .map(([tokens, place]) => ({ path: place, severity: 'warning', message: tooHigh(tokens, category ?? '', of) }))
}

/** Possible costs of a request, with the key for each. For a batch each element counts alone. */
function placedCosts(price: Price, path: Path): (readonly [number, Path])[] {
  if (price.kind === 'fixed') return [[price.cost, path]]
  const { reading, otherwise } = price
  const others = reading.kind === 'values' ? 'otherwise' : 'missing'
  const amounts: (readonly [number, Path])[] =
    reading.kind === 'values'
      ? [...reading.values].flatMap(([value, each]) => placedCosts(each, [...path, 'values', value]))
      : [[reading.max, [...path, 'max']]]
  return otherwise === null ? amounts : [...amounts, [otherwise, [...path, others]]]
}

function tooHigh(tokens: number, category: string, { ever, atWorst, factor }: Ceilings): string {
  const isEver = tokens > ever.limit
  const { limit, name, plan } = isEver ? ever : atWorst
  const [of, ofThat] = plan === undefined ? ['', ''] : [` of plan ${plan}`, ' of that plan']
  const above = `${tokens} is above the ${name}${of} in category ${quote(category)}, ${limit}`
  const what = isEver
    ? `no such request${ofThat} is ever accepted`
    : `which mode adaptive has at its lowest factor, ${factor}: meanwhile no such request${ofThat} is accepted`
  return `${above}${isEver ? ':' : ','} ${what}; lower the cost or raise the limit`
}
