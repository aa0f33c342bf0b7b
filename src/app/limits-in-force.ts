import type { QuotaConfig } from '../config/config.ts'
import { limitsAhead } from '../control/limits-ahead.ts'
import { asOverrides } from '../control/overrides.ts'
import { resolve, tablesIn } from '../control/settings.ts'
import { type ControlState, storedOf, UNCHANGED, type Versioned } from '../control/state.ts'
import type { Ahead } from '../quota/ahead.ts'
import type { Books } from '../quota/books.ts'
import type { ValueTable } from '../quota/limit-value.ts'
import { createPolicy, type Policy, type QuotaSettings } from '../quota/policy.ts'
import type { IsKnown } from '../quota/reserve.ts'

/** The limits in force that result from one configuration and the changes at run time. */
export interface LimitsInForce {
  policy(): Policy
  /** Whether all refusals of the quota are only counted and reported. */
  shadow(): boolean
  /** How the limits will change at moments that are already known. */
  ahead(): Ahead
  /** Calculates the limits anew. @param factor of mode `adaptive` */
  enforce(state: ControlState, factor: number): void
}

/** Begins with the limits of the file. @param books default none @param isKnown as for `createPolicy` */
export function createLimitsInForce(quota: QuotaConfig, books?: Books, isKnown?: IsKnown): LimitsInForce {
  let state = UNCHANGED
  let factor = 1
  let resolved = resolve(quota, state.settings.value)
  let overrides = asOverrides(state)
  const withBooks = (settings: QuotaSettings): QuotaSettings =>
    books === undefined ? settings : { ...settings, books }
  let policy = createPolicy(withBooks(resolved.settings), factor, overrides, isKnown)
  let ahead = aheadNow()

  function aheadNow(): Ahead {
    const isAdaptive = resolved.settings.mode === 'adaptive'
    return limitsAhead({ file: quota, completed: withBooks, stored: storedOf(state), factor, isKnown, isAdaptive })
  }

  /** Puts all of the next limits in force, or none if the policy cannot be made. */
  function enforce(next: ControlState, nextFactor: number): void {
    const nextResolved = next.settings === state.settings ? resolved : resolve(quota, next.settings.value)
    const areOld =
      next.overrides === state.overrides &&
      next.organisationOverrides === state.organisationOverrides &&
      next.grants === state.grants
    const nextOverrides = areOld ? overrides : asOverrides(next)
    const isChanged = next !== state || (nextFactor !== factor && nextResolved.settings.mode === 'adaptive')
    // Refusals are remembered by the limits of the policy, so even a reset needs a new policy.
    if (isChanged) policy = createPolicy(withBooks(nextResolved.settings), nextFactor, nextOverrides, isKnown)
    state = next
    factor = nextFactor
    resolved = nextResolved
    overrides = nextOverrides
    ahead = aheadNow()
  }

  return {
    policy: () => policy,
    shadow: () => resolved.shadow,
    ahead: () => ahead,
    enforce,
  }
}

/**
 * Changes at run time without a place in a configuration, as one sentence for each missing category or window. They
 * take effect when the configuration has it again.
 */
export function restingChanges(
  { windows, categories, plans }: QuotaConfig,
  { settings, overrides, organisationOverrides }: ControlState,
): string[] {
  const lengths = windows.map(({ name }) => name)
  const ofSettings = tablesIn(settings.value).map(({ table }) => table)
  const gone = Object.keys(settings.value.plans ?? {}).filter((name) => plans?.has(name) !== true)
  return [
    ...missing('settings', ofSettings, categories, lengths),
    ...gone.map((name) => `quota: settings changed at run time for plan "${name}" rest: ${CURE}`),
    ...missing('overrides of users', limitsOf(overrides), categories, lengths),
    ...missing('overrides of organisations', limitsOf(organisationOverrides), categories, lengths),
    ...missingPlans(overrides, plans),
  ]
}

function* limitsOf(overrides: ReadonlyMap<string, Versioned<{ readonly limits: ValueTable }>>): Iterable<ValueTable> {
  for (const { value } of overrides.values()) yield value.limits
}

function missingPlans(overrides: ControlState['overrides'], plans: QuotaConfig['plans']): string[] {
  const gone = new Set<string>()
  for (const { value } of overrides.values()) {
    if (value.plan !== undefined && plans?.has(value.plan) !== true) gone.add(value.plan)
  }
  return [...gone].map(
    (name) =>
      `quota: overrides of users that set plan ${JSON.stringify(name)} rest: add it to plans, or set another for those users`,
  )
}

/** Looks at each value without keeping it, because a list of 100,000 overrides would block the process. */
function missing(
  what: string,
  tables: Iterable<ValueTable>,
  categories: readonly string[],
  windows: readonly string[],
): string[] {
  const [lost, gone] = [new Set<string>(), new Set<string>()]
  for (const table of tables) {
    for (const category in table) {
      if (!categories.includes(category)) lost.add(category)
      for (const window in table[category]) if (!windows.includes(window)) gone.add(window)
    }
  }
  return [
    ...[...lost].map((name) => `quota: ${what} changed at run time for category "${name}" rest: ${CURE}`),
    ...[...gone].map((name) => `quota: ${what} changed at run time for window "${name}" rest: ${CURE}`),
  ]
}

const CURE = 'add it, or give those values back to the file'
