import type { Limits } from './charge.ts'
import type { Limit, Window } from './window.ts'

/**
 * From what administrators set to the limits in force: pure.
 *
 *   effective = floor(baseline x mode factor x (multiplier, for the global scope)), at least 1 where the baseline is at least 1
 */

export type Mode = 'conservative' | 'normal' | 'loose' | 'adaptive' | 'custom'

/** Token limits by category, then by window name. Every category names every window. */
export type LimitTable = ReadonlyMap<string, ReadonlyMap<string, number>>

export interface ScopedLimits {
  readonly personal: LimitTable
  readonly global: LimitTable
}

export interface QuotaSettings {
  readonly mode: Mode
  /** Shortest first; one to eight. */
  readonly windows: readonly Window[]
  readonly baselines: ScopedLimits
  /** The explicit values of mode `custom`; `null` in every other mode. */
  readonly custom: ScopedLimits | null
  readonly global: { readonly enabled: boolean /** 0.25 to 4. */; readonly multiplier: number }
}

/** What an administrator has set for one user; it replaces the personal limit as it stands, whatever the mode. */
export interface Override {
  /** By category, then window name; a missing value follows the default. */
  readonly limits: LimitTable
  readonly bypassGlobal: boolean
}

const FACTORS = { conservative: 0.75, normal: 1, loose: 1.5, custom: 1 } as const

/** The mode's factor. `adaptive` is the share drawn from the server error rate, used in mode `adaptive` only. */
export function modeFactor(mode: Mode, adaptive: number): number {
  return mode === 'adaptive' ? adaptive : FACTORS[mode]
}

/** The limits in force, worked out once for each change of settings, so that a request only looks them up. */
export interface Policy {
  readonly categories: readonly string[]
  /** @throws Error for a category that the settings do not name: routes are checked against them at load. */
  limitsOf(category: string): Limits
  /** The same with a user's override applied. */
  limitsFor(category: string, override: Override): Limits
}

export function createPolicy(settings: QuotaSettings, adaptive = 1): Policy {
  const factor = modeFactor(settings.mode, adaptive)
  const table = settings.mode === 'custom' && settings.custom !== null ? settings.custom : settings.baselines
  const categories = [...table.personal.keys()]
  const scope = (limits: LimitTable, category: string, multiplier: number): Limit[] =>
    settings.windows.map((window) => ({
      window,
      limit: effective(baselineOf(limits, category, window), factor, multiplier),
    }))

  const byCategory = new Map(
    categories.map((category): [string, Limits] => [
      category,
      {
        personal: scope(table.personal, category, 1),
        global: settings.global.enabled ? scope(table.global, category, settings.global.multiplier) : null,
      },
    ]),
  )

  function limitsOf(category: string): Limits {
    const limits = byCategory.get(category)
    if (limits === undefined) throw new Error(`no limits for category ${category}`)
    return limits
  }

  function limitsFor(category: string, override: Override): Limits {
    const { personal, global } = limitsOf(category)
    const own = override.limits.get(category)
    return {
      personal: personal.map(({ window, limit }) => ({ window, limit: own?.get(window.name) ?? limit })),
      global: override.bypassGlobal ? null : global,
    }
  }

  return { categories, limitsOf, limitsFor }
}

function baselineOf(limits: LimitTable, category: string, window: Window): number {
  const value = limits.get(category)?.get(window.name)
  if (value === undefined) throw new Error(`no limit for ${category} in window ${window.name}`)
  return value
}

/**
 * In decimal, as an administrator reads it: in binary 100 x 1.1 is 110.00000000000001 and 0.29 x 100 is
 * 28.999999999999996. Factors count to twelve decimals; up to 1000 these are exact, and so is everything after.
 */
function effective(baseline: number, factor: number, multiplier: number): number {
  const product = Number((BigInt(baseline) * decimal(factor) * decimal(multiplier)) / (ONE * ONE))
  return baseline >= 1 ? Math.max(1, product) : product
}

/** `floor(limit x share)`, in decimal for the same reason: 29% of 100 is 29. @param share 0 to 1 */
export function portion(limit: number, share: number): number {
  return Number((BigInt(limit) * decimal(share)) / ONE)
}

const ONE = 10n ** 12n

function decimal(factor: number): bigint {
  return BigInt(Math.round(factor * 1e12))
}
