import { median } from './statistics.ts'

/** A figure with its bound, and its values in each round or pair of rounds. */
export interface Figure {
  readonly name: string
  readonly unit: 'x' | 'us' | 'ms' | 'bytes'
  readonly values: readonly number[]
  readonly target: { readonly atMost: number } | { readonly below: number }
}

/** The median decides. Without any value the bound is not met. */
export function isMet({ values, target }: Figure): boolean {
  return 'atMost' in target ? median(values) <= target.atMost : median(values) < target.below
}

/** Bounds the growth of a cost to a tenth: runs of the same thing differ by some percent. */
export function noGrowth(name: string, values: readonly number[]): Figure {
  return { name, unit: 'x', values, target: { atMost: 1.1 } }
}
