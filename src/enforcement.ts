import type { QuotaConfig } from './config/config.ts'
import { asOverrides } from './control/overrides.ts'
import { resolve } from './control/settings.ts'
import { type ControlState, UNCHANGED } from './control/state.ts'
import { createPolicy, type Policy } from './quota/policy.ts'

/** What one configuration and the changes at run time come to: the limits in force. */
export interface Enforcement {
  policy(): Policy
  /** Whether all refusals of the quota are only counted and told. */
  shadow(): boolean
  /** Works the limits out anew. @param factor of mode `adaptive` */
  enforce(state: ControlState, factor: number): void
}

/** At first that of the file alone. */
export function createEnforcement(quota: QuotaConfig): Enforcement {
  let state = UNCHANGED
  let factor = 1
  let resolved = resolve(quota, state.settings.value)
  let overrides = asOverrides(state)
  let policy = createPolicy(resolved.settings, factor, overrides)

  function enforce(next: ControlState, nextFactor: number): void {
    const isChanged = next !== state || (nextFactor !== factor && resolved.settings.mode === 'adaptive')
    if (next.settings !== state.settings) resolved = resolve(quota, next.settings.value)
    if (next.overrides !== state.overrides) overrides = asOverrides(next)
    state = next
    factor = nextFactor
    // Refusals are remembered by the limits of the policy: also after a reset it has to be another one.
    if (isChanged) policy = createPolicy(resolved.settings, factor, overrides)
  }

  return { policy: () => policy, shadow: () => resolved.shadow, enforce }
}

/**
 * What was changed at run time and has no place in a configuration: one sentence for each category or window that it does
 * not have. It takes effect again when it has.
 */
export function restingChanges({ windows, categories }: QuotaConfig, { settings, overrides }: ControlState): string[] {
  const { baselines, custom } = settings.value
  const ofSettings = [baselines?.personal, baselines?.global, custom?.personal, custom?.global].flatMap(placesOf)
  const ofOverrides = [...overrides.values()].flatMap(({ value }) => placesOf(value.limits))
  const lengths = windows.map(({ name }) => name)
  return [
    ...missing('settings', ofSettings, categories, lengths),
    ...missing('overrides of users', ofOverrides, categories, lengths),
  ]
}

interface Place {
  readonly category: string
  readonly window: string
}

function placesOf(table: Readonly<Record<string, Readonly<Record<string, number>>>> | undefined): Place[] {
  return Object.entries(table ?? {}).flatMap(([category, row]) =>
    Object.keys(row).map((window) => ({ category, window })),
  )
}

function missing(
  what: string,
  places: readonly Place[],
  categories: readonly string[],
  windows: readonly string[],
): string[] {
  const lost = new Set(places.map(({ category }) => category).filter((category) => !categories.includes(category)))
  const gone = new Set(places.map(({ window }) => window).filter((window) => !windows.includes(window)))
  const cure = 'add it, or give those values back to the file'
  return [
    ...[...lost].map((name) => `quota: ${what} changed at run time for category "${name}" rest: ${cure}`),
    ...[...gone].map((name) => `quota: ${what} changed at run time for window "${name}" rest: ${cure}`),
  ]
}
