import type { Limits } from './charge.ts'
import { decimal, ONE } from './decimal.ts'
import { type IsKnown, newcomersLimits, type Reserve } from './reserve.ts'
import type { Limit, Window } from './window.ts'

/**
 * Makes the limits in force from what administrators set: pure.
 * A limit is floor(baseline x mode factor x multiplier), at least 1 if the baseline is at least 1. The multiplier is
 * for the global scope.
 */

export const MODES = ['conservative', 'normal', 'loose', 'adaptive', 'custom'] as const
export type Mode = (typeof MODES)[number]

/** The factor on the global limits. */
export const MULTIPLIER = { min: 0.25, max: 4 } as const

/** Tokens of one limit: sums of limits stay exact in a double, in Lua too. */
export const MAX_LIMIT = 1e12

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
  /** The explicit values of mode `custom`; what is missing there is the baseline. `null` for none. */
  readonly custom: ScopedLimits | null
  readonly global: { readonly enabled: boolean /** In `MULTIPLIER`. */; readonly multiplier: number }
  /** What is kept of the global limits for known users. Default nothing. */
  readonly reserve?: Reserve
}

/** What an administrator has set for one user; its limits replace the personal ones as they stand, whatever the mode. */
export interface Override {
  /** By category, then window name; a missing value follows the default. */
  readonly limits: LimitTable
  readonly bypassGlobal: boolean
  /** Whether this user's refusals are only counted and reported. */
  readonly shadow: boolean
  /** Why, for whoever asks where a limit comes from. */
  readonly reason?: string
}

/** By user. */
export type Overrides = Pick<ReadonlyMap<string, Override>, 'get' | 'size'>

const FACTORS = { conservative: 0.75, normal: 1, loose: 1.5, custom: 1 } as const

/** The mode's factor. `adaptive` is the share drawn from the server error rate, used in mode `adaptive` only. */
export function modeFactor(mode: Mode, adaptive: number): number {
  return mode === 'adaptive' ? adaptive : FACTORS[mode]
}

/** The limits in force, worked out once for each change of settings, so that a request only looks them up. */
export interface Policy {
  readonly categories: readonly string[]
  /**
   * The limits of users without an override.
   * @throws Error for a category that the settings do not name: routes are checked against them at load
   */
  limitsOf(category: string): Limits
  /**
   * The limits of users without an override who are not known: the same object if no reserve is kept. @throws Error as
   * `limitsOf`
   */
  limitsOfNewcomers(category: string): Limits
  /**
   * The limits of one user. Without an override they are those of `limitsOf`, or of users who are not known, if a
   * reserve is kept from them. Equal limits are the same object while this policy lives: texts and memories are kept by
   * it.
   * @throws Error as `limitsOf`
   */
  limitsFor(category: string, user: string): Limits
  /** Whether the user's refusals are only counted and reported, by an override. */
  isShadowed(user: string): boolean
  /** How the limits of one user came about. @param origin where a value was written. @throws Error as `limitsOf` */
  trace(category: string, user: string, origin?: Origin): Trace
}

/** Where the value of a baseline or of mode `custom` was written, for example `tollgate.yaml:22`; `null` if nobody knows. */
export type Origin = (
  scope: keyof ScopedLimits,
  category: string,
  window: string,
  layer: 'baselines' | 'custom',
) => string | null

/** A limit in force and the layers that made it. */
export interface LimitTrace extends Limit {
  /** Names of the layers, for example `baseline x mode`. */
  readonly source: string
  /**
   * A sentence for each layer, in the order they apply: `baseline 120 (tollgate.yaml:22)`, `mode conservative x 0.75`.
   */
  readonly steps: readonly string[]
}

export interface Trace {
  readonly personal: readonly LimitTrace[]
  readonly global: readonly LimitTrace[] | null
  /** Why the global scope does not apply: the switch, or a user's override and its reason; `null` if it does. */
  readonly noGlobal: 'switched off' | { readonly bypass: string } | null
}

const NO_OVERRIDES: Overrides = new Map()
const NOBODY: IsKnown = () => false

/** @param isKnown whether a user without an override may use the reserve, asked with each look at his limits. Default nobody */
export function createPolicy(
  settings: QuotaSettings,
  adaptive = 1,
  overrides: Overrides = NO_OVERRIDES,
  isKnown: IsKnown = NOBODY,
): Policy {
  const { reserve } = settings
  const categories = [...settings.baselines.personal.keys()]
  const layers = createLayers(settings, adaptive)
  const everybody = new Map(
    categories.map((category): [string, Limits] => [
      category,
      {
        personal: settings.windows.map((window) => layers.limit('personal', category, window)),
        organisation: null,
        global: settings.global.enabled
          ? settings.windows.map((window) => layers.limit('global', category, window))
          : null,
      },
    ]),
  )
  const newcomers =
    reserve === undefined
      ? null
      : new Map([...everybody].map(([category, limits]) => [category, newcomersLimits(limits, reserve.share)]))
  /** Only users with an override are remembered, when they first come. */
  const own = new Map(categories.map((category) => [category, new Map<string, Limits>()]))

  function limitsOf(category: string): Limits {
    const limits = everybody.get(category)
    if (limits === undefined) throw new Error(`no limits for category ${category}`)
    return limits
  }

  function limitsOfNewcomers(category: string): Limits {
    return newcomers?.get(category) ?? limitsOf(category)
  }

  function limitsFor(category: string, user: string): Limits {
    const override = overrides.size === 0 ? undefined : overrides.get(user)
    if (override === undefined)
      return newcomers === null || isKnown(user) ? limitsOf(category) : limitsOfNewcomers(category)
    const known = own.get(category)?.get(user)
    if (known !== undefined) return known
    const limits = overridden(limitsOf(category), override.limits.get(category), override.bypassGlobal)
    own.get(category)?.set(user, limits)
    return limits
  }

  function isShadowed(user: string): boolean {
    return overrides.get(user)?.shadow === true
  }

  function trace(category: string, user: string, origin: Origin = () => null): Trace {
    const { personal, global } = limitsFor(category, user)
    const override = overrides.get(user)
    const set = override?.limits.get(category)
    const traced = (scope: keyof ScopedLimits, limit: Limit): LimitTrace =>
      scope === 'personal' && set?.has(limit.window.name)
        ? { ...limit, source: 'override', steps: [`override ${limit.limit}${because(override)}`] }
        : { ...limit, ...lessKept(layers.explain(scope, category, limit.window, origin), limit) }
    return {
      personal: personal.map((limit) => traced('personal', limit)),
      global: global?.map((limit) => traced('global', limit)) ?? null,
      noGlobal: global !== null ? null : settings.global.enabled ? { bypass: override?.reason ?? '' } : 'switched off',
    }
  }

  return { categories, limitsOf, limitsOfNewcomers, limitsFor, isShadowed, trace }
}

function overridden(limits: Limits, own: ReadonlyMap<string, number> | undefined, bypassGlobal: boolean): Limits {
  const { personal, organisation, global } = limits
  const isOwn = personal.some(({ window }) => own?.has(window.name))
  // Equal limits are the same object as everybody else's: a batch sends each set once.
  if (!isOwn && (global === null || !bypassGlobal)) return limits
  return {
    personal: isOwn
      ? personal.map(({ window, limit }) => ({ window, limit: own?.get(window.name) ?? limit }))
      : personal,
    organisation,
    global: bypassGlobal ? null : global,
  }
}

function because(override: Override | undefined): string {
  return override?.reason === undefined ? '' : ` (${override.reason})`
}

function lessKept(layers: Pick<LimitTrace, 'source' | 'steps'>, { limit, kept }: Limit): typeof layers {
  if (kept === undefined) return layers
  return {
    source: `${layers.source} - reserve`,
    steps: [...layers.steps, `reserve: ${kept} of ${limit + kept} are kept for known users`],
  }
}

/** The layers from a written value to a limit: baseline or custom value, factor of the mode, multiplier. */
function createLayers({ mode, baselines, custom, global }: QuotaSettings, adaptive: number) {
  const factor = modeFactor(mode, adaptive)

  function written(scope: keyof ScopedLimits, category: string, window: Window) {
    const explicit = mode === 'custom' ? custom?.[scope].get(category)?.get(window.name) : undefined
    if (explicit !== undefined) return { layer: 'custom', value: explicit } as const
    const value = baselines[scope].get(category)?.get(window.name)
    if (value === undefined) throw new Error(`no limit for ${category} in window ${window.name}`)
    return { layer: 'baselines', value } as const
  }

  function multiplierOf(scope: keyof ScopedLimits): number {
    return scope === 'global' ? global.multiplier : 1
  }

  function limit(scope: keyof ScopedLimits, category: string, window: Window): Limit {
    const { value } = written(scope, category, window)
    return { window, limit: effective(value, factor, multiplierOf(scope)) }
  }

  function explain(scope: keyof ScopedLimits, category: string, window: Window, origin: Origin) {
    const { layer, value } = written(scope, category, window)
    const multiplier = multiplierOf(scope)
    const place = origin(scope, category, window.name, layer)
    const name = layer === 'custom' ? 'custom' : 'baseline'
    const parts = [[name, `${name} ${value}${place === null ? '' : ` (${place})`}`]]
    if (factor !== 1 || mode === 'adaptive') parts.push(['mode', `mode ${mode} x ${factor}`])
    if (multiplier !== 1) parts.push(['multiplier', `multiplier x ${multiplier}`])
    const result = effective(value, factor, multiplier)
    const steps = parts.map(([, step]) => step as string)
    if (!isWhole(value, factor, multiplier)) steps.push(`rounded to ${result}`)
    return { source: parts.map(([layer]) => layer).join(' x '), steps }
  }

  return { limit, explain }
}

/**
 * In decimal, as an administrator reads it. In binary 100 x 1.1 is 110.00000000000001 and 0.29 x 100 is
 * 28.999999999999996. Factors count to twelve decimals. Up to 1000 these are exact, and so is everything after.
 */
function effective(baseline: number, factor: number, multiplier: number): number {
  const product = Number(scaled(baseline, factor, multiplier) / (ONE * ONE))
  return baseline >= 1 ? Math.max(1, product) : product
}

function isWhole(baseline: number, factor: number, multiplier: number): boolean {
  return scaled(baseline, factor, multiplier) % (ONE * ONE) === 0n
}

function scaled(baseline: number, factor: number, multiplier: number): bigint {
  return BigInt(baseline) * decimal(factor) * decimal(multiplier)
}
