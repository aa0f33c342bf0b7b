import type { Books } from './books.ts'
import { isExact, limitOf, multiplied, type Written } from './multiplied.ts'
import type { Reserve } from './reserve.ts'
import type { Limit, Window } from './window.ts'

/**
 * From what was written to the limit that it makes: pure.
 * A limit is floor(value x mode factor x multiplier), at least 1 if the value is at least 1. The value is that of the plan, else the baseline.
 * The multiplier is for the global scope.
 */

export const MODES = ['conservative', 'normal', 'loose', 'adaptive', 'custom'] as const
export type Mode = (typeof MODES)[number]

/** The factor on the global limits. */
export const MULTIPLIER = { min: 0.25, max: 4 } as const

/** Token limits by category, then by window name. `UNLIMITED` says that there is none. */
export type LimitTable = ReadonlyMap<string, ReadonlyMap<string, number>>

/** How a value says that its window has no limit: the window is then neither checked nor shown. */
export const UNLIMITED = Number.POSITIVE_INFINITY

export interface ScopedLimits {
  /** Names all categories, each with the windows that it has. */
  readonly personal: LimitTable
  /** A category or window that is left out has no limit of all users together. */
  readonly global: LimitTable
  /** Tokens that pass beyond some of these limits, whatever value they have at run time. Default none. */
  readonly over?: Readonly<Partial<Record<'personal' | 'global', LimitTable>>>
}

/** Limits of callers with this plan. A category or window that is left out follows the baselines, or has no limit of the organisation. */
export interface PlanLimits {
  readonly personal: LimitTable
  readonly organisation: LimitTable
  /** The day with which months begin for its users and their organisations, in `PERIOD_DAY`. Default that of the window. */
  readonly periodDay?: number
  /** As of `ScopedLimits`. */
  readonly over?: Readonly<Partial<Record<'personal' | 'organisation', LimitTable>>>
}

/** By name. */
export type Plans = ReadonlyMap<string, PlanLimits>

export interface QuotaSettings {
  readonly mode: Mode
  /** Shortest first; one to seven. */
  readonly windows: readonly Window[]
  readonly baselines: ScopedLimits
  /** The explicit values of mode `custom`, instead of baselines; what is missing there is the baseline. `null` for none. */
  readonly custom: ScopedLimits | null
  readonly global: { readonly enabled: boolean /** In `MULTIPLIER`. */; readonly multiplier: number }
  /** What is kept of the global limits for known users. Default nothing. */
  readonly reserve?: Reserve
  /** Default none: the baselines are everybody's. */
  readonly plans?: Plans
  /** One of `plans`, of whoever has none. Default none. */
  readonly defaultPlan?: string
  /** Whether credentials may name the day with which months begin. Default no. */
  readonly hasNamedDays?: boolean
  /** In which the days of users and organisations are kept. Default not at all. */
  readonly books?: Books
}

const FACTORS = { conservative: 0.75, normal: 1, loose: 1.5, custom: 1 } as const

/** The mode's factor. `adaptive` is the share drawn from the server error rate, used in mode `adaptive` only. */
export function modeFactor(mode: Mode, adaptive: number): number {
  return mode === 'adaptive' ? adaptive : FACTORS[mode]
}

export type LimitScope = 'personal' | 'organisation' | 'global'

/** What a value was written in: `custom` is that of mode `custom`. */
export type Layer = 'baselines' | 'custom' | { readonly plan: string }

/** Where a value was written, for example `tollgate.yaml:22`; `null` if nobody knows. */
export type Origin = (scope: LimitScope, category: string, window: string, layer: Layer) => string | null

/** How a limit came about. */
export interface Layers {
  /** Names of the layers, for example `baseline x mode`. */
  readonly source: string
  /**
   * A sentence for each layer, in the order they apply: `baseline 120 (tollgate.yaml:22)`, `mode conservative x 0.75`.
   */
  readonly steps: readonly string[]
}

/** Those of a plan, or of none (`null`). */
export interface PlanLayers {
  /** The layer that decides on one limit, also where it says that there is none; `null` if nothing was written. */
  layerOf(scope: LimitScope, category: string, window: string): Layer | null
  /** The limits of one scope, shortest window first, without the windows that nobody wrote a limit for. */
  limits(scope: LimitScope, category: string): Limit[]
  explain(scope: LimitScope, category: string, window: Window, origin: Origin): Layers
}

export function createPlanLayers(settings: QuotaSettings, adaptive: number, plan: string | null): PlanLayers {
  const { mode, windows, baselines, custom, plans, global } = settings
  const factor = modeFactor(mode, adaptive)
  const ofPlan = plan === null ? undefined : plans?.get(plan)

  /** By the first layer that has a value, which may say that there is no limit; `null` if none has one. */
  function written(scope: LimitScope, category: string, window: string): InLayer | null {
    const valueIn = (table: LimitTable | undefined) => table?.get(category)?.get(window)
    const found = (layer: Layer, value: number, over?: LimitTable): InLayer => ({ layer, value, over: valueIn(over) })
    const own = scope === 'global' ? undefined : valueIn(ofPlan?.[scope])
    if (own !== undefined && plan !== null)
      return found({ plan }, own, scope === 'global' ? undefined : ofPlan?.over?.[scope])
    if (scope === 'organisation') return null
    const explicit = mode === 'custom' ? valueIn(custom?.[scope]) : undefined
    if (explicit !== undefined) return found('custom', explicit, custom?.over?.[scope])
    const value = valueIn(baselines[scope])
    return value === undefined ? null : found('baselines', value, baselines.over?.[scope])
  }

  function multiplierOf(scope: LimitScope): number {
    return scope === 'global' ? global.multiplier : 1
  }

  function limits(scope: LimitScope, category: string): Limit[] {
    return windows.flatMap((window) => {
      const found = written(scope, category, window.name)
      return found === null || found.value === UNLIMITED ? [] : [limitOf(window, found, factor, multiplierOf(scope))]
    })
  }

  function explain(scope: LimitScope, category: string, window: Window, origin: Origin): Layers {
    const found = written(scope, category, window.name)
    if (found === null || found.value === UNLIMITED) return { source: '', steps: [] }
    const { layer, value } = found
    const multiplier = multiplierOf(scope)
    const parts = [writtenStep(found, origin(scope, category, window.name, layer))]
    if (factor !== 1 || mode === 'adaptive') parts.push(['mode', `mode ${mode} x ${factor}`])
    if (multiplier !== 1) parts.push(['multiplier', `multiplier x ${multiplier}`])
    const result = multiplied(value, factor, multiplier)
    const steps = parts.map(([, step]) => step)
    if (!isExact(value, factor, multiplier)) steps.push(`rounded to ${result}`)
    return { source: parts.map(([name]) => name).join(' x '), steps }
  }

  return { layerOf: (...place) => written(...place)?.layer ?? null, limits, explain }
}

/** What was written of a limit, and where. */
interface InLayer extends Written {
  readonly layer: Layer
}

/** What was written, in words. */
export function amountOf({ value, over }: Written): string {
  return over === undefined ? String(value) : `${value} and ${over} over`
}

/** The name of the layer, and its sentence. */
function writtenStep({ layer, value, over }: InLayer, place: string | null): [string, string] {
  const at = place === null ? '' : ` (${place})`
  const amount = amountOf({ value, over })
  if (typeof layer === 'object') return [`plan ${layer.plan}`, `plan ${layer.plan}${at}: ${amount}`]
  const name = layer === 'custom' ? 'custom' : 'baseline'
  return [name, `${name} ${amount}${at}`]
}
