import type { LayerResponse } from '../../contract/api.ts'
import { leavesOf, over, treeOf } from '../../control/leaves.ts'
import { isFactor, type OverrideValue } from './override-layers.ts'

/** Layers over time as the audit has them, oldest first. */

/** A layer without its state, which depends on the moment. */
export type Layer = Omit<LayerResponse, 'state'>

export function layersIn(value: unknown): readonly Layer[] {
  const { layers = [] } = (value ?? {}) as { readonly layers?: readonly Layer[] }
  return layers
}

/** The permanent value below all layers; `null` for none. */
export function permanentIn(value: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof value !== 'object' || value === null) return null
  const entries = Object.entries(value).filter(([name]) => name !== 'layers')
  return entries.length === 0 ? null : Object.fromEntries(entries)
}

/** @param at milliseconds since the epoch */
export function isLive({ from, until }: Pick<Layer, 'from' | 'until'>, at: number): boolean {
  return (from === null || Date.parse(from) <= at) && (until === null || Date.parse(until) > at)
}

/** The settings in force at a moment. Each layer is a merge patch. */
export function settingsAt(value: unknown, at: number): Readonly<Record<string, unknown>> {
  const live = layersIn(value).filter((layer) => isLive(layer, at))
  return treeOf(live.reduce((under, layer) => over(under, leavesOf(layer.value)), leavesOf(permanentIn(value) ?? {})))
}

/** The override in force at a moment, with its end; `null` for none. A layer is a whole override, or a factor on what is below it. */
export function overrideAt(value: unknown, at: number): Readonly<Record<string, unknown>> | null {
  const live = layersIn(value).filter((layer) => isLive(layer, at))
  return live.reduce(
    (under, { value, until }): Json => laidOver(under, { ...value, expiresAt: until }),
    permanentIn(value),
  )
}

function laidOver(under: Json | null, top: Json): Json {
  if (under === null || !isFactor(top as OverrideValue)) return top
  const { factor, reason, expiresAt } = top
  return { ...under, factor: Number(factor) * Number(under.factor ?? 1), reason, expiresAt }
}

type Json = Readonly<Record<string, unknown>>
