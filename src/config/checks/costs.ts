import { createPolicy } from '../../quota/policy.ts'
import { type Finding, type Path, quote } from '../problems.ts'
import type { ParsedRoute, Salvage } from '../salvage.ts'
import { toWindows, windowsOf } from '../windows.ts'

interface Ceiling {
  readonly limit: number
  /** For example `personal limit of window 1h`. */
  readonly name: string
}

/**
 * Warns of costs above a limit: such a request is never accepted, but for a user with an override.
 * Only for quotas without problems.
 */
export function checkCosts({ quota, routes, unmatched }: Salvage): Finding[] {
  const ceilings = ceilingsOf(quota)
  if (ceilings === null) return []
  const findings = routes.flatMap((route, i) => checkCost(route, ['routes', i], ceilings))
  return typeof unmatched === 'object' ? [...findings, ...checkCost(unmatched, ['unmatched'], ceilings)] : findings
}

function ceilingsOf(quota: Salvage['quota']): Map<string, Ceiling> | null {
  const { mode, baselines, custom, global, adaptive } = quota
  if (mode === undefined || baselines === undefined || global === undefined) return null
  const settings = { mode, windows: toWindows(windowsOf(quota)), baselines, custom: custom ?? null, global }
  const policy = createPolicy(settings, adaptive?.max)
  return new Map(policy.categories.map((category) => [category, lowest(policy.limitsOf(category))]))
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
  ceilings: ReadonlyMap<string, Ceiling>,
): Finding[] {
  const ceiling = category === undefined ? undefined : ceilings.get(category)
  if (ceiling === undefined) return []
  const costs: (readonly [number, Path])[] =
    typeof cost === 'object'
      ? [...cost.values].map(([value, tokens]) => [tokens, [...path, 'cost', 'values', value]] as const)
      : [[cost ?? 1, [...path, 'cost']]]
  return costs
    .filter(([tokens]) => tokens > ceiling.limit)
    .map(([tokens, place]) => ({ path: place, severity: 'warning', message: tooHigh(tokens, category ?? '', ceiling) }))
}

function tooHigh(tokens: number, category: string, { limit, name }: Ceiling): string {
  return `${tokens} is above the ${name} in category ${quote(category)}, ${limit}: no such request is ever accepted; lower the cost or raise the limit`
}
