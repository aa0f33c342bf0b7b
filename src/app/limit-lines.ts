import { type Config, chargedRules, metersIn } from '../config/config.ts'
import { originOf, resolve } from '../control/settings.ts'
import type { Changes } from '../control/state.ts'
import { createPlanLayers, type LimitScope, type Origin, type PlanLayers } from '../quota/limit-layers.ts'
import { beginningWith } from '../quota/period-days.ts'
import { promised, type Window } from '../quota/window.ts'
import { fileOrigin } from './explain.ts'

/** With many plans only the first lines are kept, because the log should not get a thousand of them. */
const MOST_LINES = 50

/**
 * The limits in force for everything that is charged, with their places, as lines for people: `read, each user: 120 in
 * 1h, 1200 in 1d (tollgate.yaml:22)`. Overrides are left out.
 * @param changes made at run time
 * @param adaptive the factor of mode `adaptive`
 */
export function limitLines(config: Config, changes: Changes = {}, adaptive = 1): string[] {
  const { settings } = resolve(config.quota, changes)
  const origin = originOf(changes, fileOrigin(config))
  const plans = [...(settings.plans?.keys() ?? [])]
  const alone = plans.length === 0 ? 'each user' : 'each user without a plan'
  const everybody = settings.global.enabled ? 'all users together' : 'all users together, switched off'
  const lines = chargedCategories(config).flatMap((category) => {
    const line = (plan: string | null, scope: LimitScope, whose: string): string | null => {
      const day = plan === null ? undefined : settings.plans?.get(plan)?.periodDay
      const spoken = (window: Window): string => spokenWindow(day === undefined ? window : beginningWith(window, day))
      return lineOf({ layers: createPlanLayers(settings, adaptive, plan), category, scope, whose, origin, spoken })
    }
    return [
      settings.defaultPlan === undefined ? line(null, 'personal', alone) : null,
      ...plans.flatMap((plan) => [
        line(plan, 'personal', `each user of plan ${plan}`),
        line(plan, 'organisation', `each organisation of plan ${plan}`),
      ]),
      line(null, 'global', everybody),
    ].filter((line) => line !== null)
  })
  const more = lines.length - MOST_LINES
  return more > 0 ? [...lines.slice(0, MOST_LINES), `and ${more} more`] : lines
}

/** The charged categories, in the order of the file. */
function chargedCategories(config: Config): string[] {
  const charged = chargedRules(config)
    .flatMap(metersIn)
    .filter(({ cost }) => cost.kind !== 'fixed' || cost.cost > 0)
  const names = new Set(charged.map(({ category }) => category))
  return config.quota.categories.filter((category) => names.has(category))
}

/** A window, with the first day of its months if that is not the first of the month. */
function spokenWindow({ name, calendar }: Window): string {
  return calendar?.day === undefined ? name : `${name} from day ${calendar.day}`
}

interface Line {
  readonly layers: PlanLayers
  readonly category: string
  readonly scope: LimitScope
  readonly whose: string
  readonly origin: Origin
  readonly spoken: (window: Window) => string
}

/** The line of one scope; `null` for an organisation without limits. Limits from one place stand together, before that place. */
function lineOf({ layers, category, scope, whose, origin, spoken }: Line): string | null {
  const limits = layers.limits(scope, category)
  if (limits.length === 0) return scope === 'organisation' ? null : `${category}, ${whose}: no limit`
  const byPlace = new Map<string, string[]>()
  for (const limit of limits) {
    const { window, over } = limit
    const place = placeOf(layers, category, scope, window, origin)
    const amount = over === undefined ? limit.limit : `${promised(limit)} and ${over} over`
    byPlace.set(place, [...(byPlace.get(place) ?? []), `${amount} in ${spoken(window)}`])
  }
  return `${category}, ${whose}: ${[...byPlace].map(([place, parts]) => `${parts.join(', ')} (${place})`).join(', ')}`
}

/** Where the value was written, and how it was changed. */
function placeOf(
  layers: PlanLayers,
  category: string,
  scope: LimitScope,
  window: Parameters<PlanLayers['explain']>[2],
  origin: Origin,
): string {
  let place: string | null = null
  const { steps } = layers.explain(scope, category, window, (...written) => {
    place = origin(...written)
    return place
  })
  return [place ?? 'built in', ...steps.slice(1)].join(', ')
}
