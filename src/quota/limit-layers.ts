import type { Books } from './books.ts'
import { isExact, limitOf, multiplied, type Written } from './multiplied.ts'
import type { Reserve } from './reserve.ts'
import type { Limit, Window } from './window.ts'

/**
 * How a limit is made from what was written. Pure. A limit is floor(value x mode factor x multiplier), and at least 1 if the value is at
 * least 1. The value comes from the plan, or else in mode `custom` from its own values, or else from the baselines. The multiplier applies
 * to the global scope only.
 */

export const MODES = ['conservative', 'normal', 'loose', 'adaptive', 'custom'] as const
export type Mode = (typeof MODES)[number]

/** The range of the factor on global limits. */
export const MULTIPLIER = { min: 0.25, max: 4 } as const

/** Limits in tokens, by category and then by window name. `UNLIMITED` stands for a window without a limit. */
export type LimitTable = ReadonlyMap<string, ReadonlyMap<string, number>>

/** The value of a window without a limit, which is neither checked nor shown. */
export const UNLIMITED = Number.POSITIVE_INFINITY

export interface ScopedLimits {
  /** Contains all categories, each with all of its windows. */
  readonly personal: LimitTable
  /** If a category or window is left out, it has no limit for all users together. */
  readonly global: LimitTable
  /** Tokens that pass beyond some of these limits. Default none. */
  readonly over?: Readonly<Partial<Record<'personal' | 'global', LimitTable>>>
}

/** Limits under one plan. A personal limit that is left out follows the baselines. A window that `organisation` leaves out has no limit there. */
export interface PlanLimits {
  readonly personal: LimitTable
  readonly organisation: LimitTable
  /** The day with which months begin for its users and their organisations, in `PERIOD_DAY`. Default the day of the window. */
  readonly periodDay?: number
  /** Like `over` of `ScopedLimits`. */
  readonly over?: Readonly<Partial<Record<'personal' | 'organisation', LimitTable>>>
}

export type Plans = ReadonlyMap<string, PlanLimits>

export interface QuotaSettings {
  readonly mode: Mode
  /** Shortest first, one to seven windows. */
  readonly windows: readonly Window[]
  readonly baselines: ScopedLimits
  /** The values of mode `custom`, which replace the baselines. A missing value follows the baseline. `null` for none. */
  readonly custom: ScopedLimits | null
  /** `multiplier` is in the range `MULTIPLIER`. */
  readonly global: { readonly enabled: boolean; readonly multiplier: number }
  /** The part of the global limits that is kept for known users. Default nothing. */
  readonly reserve?: Reserve
  /** Default none, and then the baselines apply to everybody. */
  readonly plans?: Plans
  /** The plan of `plans` for users without a plan. Default none. */
  readonly defaultPlan?: string
  /** Whether credentials may name the day with which months begin. Default no. */
  readonly hasNamedDays?: boolean
  /** Keeps the days of users and organisations. Default no days are kept. */
  readonly books?: Books
}

const FACTORS = { conservative: 0.75, normal: 1, loose: 1.5, custom: 1 } as const

/** The factor of a mode. @param adaptive the factor that was made from the rate of server errors, for mode `adaptive` */
export function modeFactor(mode: Mode, adaptive: number): number {
  return mode === 'adaptive' ? adaptive : FACTORS[mode]
}

export type LimitScope = 'personal' | 'organisation' | 'global'

/** Where a value was written. `custom` stands for the values of mode `custom`. */
export type Layer = 'baselines' | 'custom' | { readonly plan: string }

/** Says where a value was written, for example `tollgate.yaml:22`; `null` if unknown. */
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

/** The limits of one plan, or of callers without a plan (`null`). */
export interface PlanLayers {
  /** The layer that decides one limit, which may also say that there is no limit; `null` if no layer has a value. */
  layerOf(scope: LimitScope, category: string, window: string): Layer | null
  /** The limits of one scope, shortest window first. Windows without a written limit are left out. */
  limits(scope: LimitScope, category: string): Limit[]
  explain(scope: LimitScope, category: string, window: Window, origin: Origin): Layers
}

export function createPlanLayers(settings: QuotaSettings, adaptive: number, plan: string | null): PlanLayers {
  const { mode, windows, baselines, custom, plans, global } = settings
  const factor = modeFactor(mode, adaptive)
  const ofPlan = plan === null ? undefined : plans?.get(plan)

  /** The value of the first layer that has one. The value may be `UNLIMITED`. `null` if no layer has a value. */
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

/** A written value and its layer. */
interface InLayer extends Written {
  readonly layer: Layer
}

/** A written value in words. */
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
