import { createPolicy } from '../../quota/policy.ts'
import type { ParsedRoute, Salvage } from '../partial.ts'
import { type Finding, type Path, quote } from '../problems.ts'
import { toWindows, windowsOf } from '../window-lengths.ts'

interface Ceiling {
  readonly limit: number
  /** For example `personal limit of window 1h`. */
  readonly name: string
}

interface Ceilings {
  /** The lowest limit, at the highest factor that the mode may have. */
  readonly ever: Ceiling
  /** The same at its lowest factor. */
  readonly atWorst: Ceiling
  /** That factor; `null` for a mode that has but one. */
  readonly factor: number | null
}

/**
 * Warns of costs above a limit: such a request is never accepted, but for a user with an override.
 * Only for quotas without problems.
 */
export function checkCosts({ quota, routes, unmatched }: Salvage): Finding[] {
  const ceilings = ceilingsOf(quota)
  if (ceilings === null) return []
  const findings = routes.flatMap((route, i) => checkCost(route, ['routes', i], ceilings))
  return unmatched?.kind === 'charge' ? [...findings, ...checkCost(unmatched, ['unmatched'], ceilings)] : findings
}

function ceilingsOf(quota: Salvage['quota']): Map<string, Ceilings> | null {
  const { mode, baselines, custom, global, adaptive } = quota
  if (mode === undefined || baselines === undefined || global === undefined) return null
  const settings = { mode, windows: toWindows(windowsOf(quota)), baselines, custom: custom ?? null, global }
  const [most, least] = [createPolicy(settings, adaptive?.max), createPolicy(settings, adaptive?.min)]
  const factor = mode === 'adaptive' && adaptive !== undefined ? adaptive.min : null
  return new Map(
    most.categories.map((category) => [
      category,
      { ever: lowest(most.limitsOf(category)), atWorst: lowest(least.limitsOf(category)), factor },
    ]),
  )
}

function lowest({ personal, global }: ReturnType<ReturnType<typeof createPolicy>['limitsOf']>): Ceiling {
  const all = (['personal', 'global'] as const).flatMap((scope) =>
    ((scope === 'personal' ? personal : global) ?? []).map(({ window, limit }) => ({
      limit,
      name: `${scope} limit of window ${window.name}`,
    })),
  )
  return all.reduce((least, next) => (next.limit < least.limit ? next : least), {
    limit: Number.POSITIVE_INFINITY,
    name: '',
  })
}

function checkCost(
  { category, cost }: Partial<Pick<ParsedRoute, 'category' | 'cost'>>,
  path: Path,
  ceilings: ReadonlyMap<string, Ceilings>,
): Finding[] {
  const of = category === undefined ? undefined : ceilings.get(category)
  if (of === undefined) return []
  const costs: (readonly [number, Path])[] =
    cost?.kind === 'body'
      ? [...cost.values].map(([value, tokens]) => [tokens, [...path, 'cost', 'values', value]] as const)
      : [[cost?.cost ?? 1, [...path, 'cost']]]
  return costs
    .filter(([tokens]) => tokens > of.atWorst.limit)
    .map(([tokens, place]) => ({ path: place, severity: 'warning', message: tooHigh(tokens, category ?? '', of) }))
}

function tooHigh(tokens: number, category: string, { ever, atWorst, factor }: Ceilings): string {
  const isEver = tokens > ever.limit
  const { limit, name } = isEver ? ever : atWorst
  const above = `${tokens} is above the ${name} in category ${quote(category)}, ${limit}`
  const what = isEver
    ? 'no such request is ever accepted'
    : `which mode adaptive has at its lowest factor, ${factor}: meanwhile no such request is accepted`
  return `${above}${isEver ? ':' : ','} ${what}; lower the cost or raise the limit`
}
