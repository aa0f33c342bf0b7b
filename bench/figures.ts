import { median } from './statistics.ts'

/** A figure that is held against a bound, and what each round or pair of rounds gave. */
export interface Figure {
  readonly name: string
  readonly unit: 'x' | 'us' | 'ms' | 'bytes'
  readonly values: readonly number[]
  readonly target: { readonly atMost: number } | { readonly below: number }
}

/** The median decides. No value at all is not met. */
export function isMet({ values, target }: Figure): boolean {
  return 'atMost' in target ? median(values) <= target.atMost : median(values) < target.below
}

/** That something costs no more than a tenth more: runs of one and the same thing differ by some percent. */
export function noGrowth(name: string, values: readonly number[]): Figure {
  return { name, unit: 'x', values, target: { atMost: 1.1 } }
}
