import { isObject } from '../lib/json.ts'
import type { Form as Leaves } from './layers.ts'
import { type Leaf, leavesOf, treeOf } from './leaves.ts'
import type { Json } from './problems.ts'

/** What layers are of. */
export interface Form extends Leaves {
  /** Whether a stored value can be one: what others wrote to the store must not keep any replica from following the rest. */
  isForm(value: unknown): boolean
}

/** Each value of the settings is set by itself. */
export const SETTINGS: Form = {
  leavesOf: (value) => leavesOf(value as Json),
  valueOf: treeOf,
  isForm: isObject,
}

/** An override is set as a whole. */
export const OVERRIDES: Form = {
  leavesOf: (value): Leaf[] => [[[], value]],
  valueOf: ([leaf]) => leaf?.[1] ?? null,
  isForm: (value) => isObject(value) && (value.layers === undefined ? isOverride(value) : areLayers(value)),
}

function areLayers({ layers, ...rest }: Json): boolean {
  const isOne = (layer: unknown) => isObject(layer) && Number.isFinite(layer.from) && isOverride(layer.value)
  return Array.isArray(layers) && layers.every(isOne) && (Object.keys(rest).length === 0 || isOverride(rest))
}

function isOverride(value: unknown): boolean {
  if (!isObject(value)) return false
  const { limits, expiresAt } = value
  return isObject(limits) && Object.values(limits).every(isObject) && (expiresAt === null || Number.isFinite(expiresAt))
}
