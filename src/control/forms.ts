import type { Form } from './layers.ts'
import { type Leaf, leavesOf, over, treeOf } from './leaves.ts'
import type { Json } from './problems.ts'
import type { UserOverride } from './state.ts'

/** In the settings each value is set by itself. */
export const SETTINGS: Form = {
  leavesOf: (value) => leavesOf(value as Json),
  valueOf: treeOf,
  over,
  hides: () => true,
}

/** An override is set as a whole, unless it only multiplies what is below it. */
export const OVERRIDES: Form = {
  leavesOf: (value): Leaf[] => [[[], value]],
  valueOf: ([leaf]) => leaf?.[1] ?? null,
  over([under], [top]) {
    if (top === undefined) return under === undefined ? [] : [under]
    return under !== undefined && isFactor(top[1]) ? [[[], multiplying(under[1] as UserOverride, top[1])]] : [top]
  },
  hides: ([, value]) => !isFactor(value),
}

/** Whether an override sets only a factor. */
function isFactor(value: unknown): value is UserOverride & { readonly factor: number } {
  const { factor, limits, periodDay, plan, bypassGlobal, shadow } = value as UserOverride
  const isAlone = periodDay === undefined && plan === undefined && bypassGlobal !== true && shadow !== true
  return factor !== undefined && isAlone && Object.keys(limits).length === 0
}

/** The least product that is not 0, because only a factor of 0 blocks. */
const LEAST_FACTOR = 1e-6

/** An override under a factor. If the product is 0, nothing may pass, so shadow is switched off, which would let everything pass. */
function multiplying(under: UserOverride, top: UserOverride & { readonly factor: number }): UserOverride {
  const { factor, reason, expiresAt } = top
  const exact = factor * (under.factor ?? 1)
  const product = exact === 0 ? 0 : Math.max(LEAST_FACTOR, Number(exact.toFixed(6)))
  const isBlock = product === 0 && under.shadow === true
  const beneath = under.beneath ?? under.reason
  return { ...under, factor: product, reason, beneath, expiresAt, ...(isBlock && { shadow: false }) }
}
