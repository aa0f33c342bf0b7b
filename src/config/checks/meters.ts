import type { MeterConfig } from '../config.ts'
import type { ParsedRoute } from '../partial.ts'
import type { Path } from '../problems.ts'

/** What a rule charges in one category, if it is valid. */
export interface WrittenMeter {
  readonly category?: string | undefined
  readonly cost?: MeterConfig['cost'] | undefined
  readonly settle?: MeterConfig['settle'] | undefined
  /** The place of `cost` and `settle`. */
  readonly path: Path
  /** The place of the cost itself, which may be the value of the category. */
  readonly costAt: Path
}

interface Metered extends Partial<Pick<ParsedRoute, 'category' | 'cost' | 'charges'>> {
  readonly settle?: MeterConfig['settle'] | undefined
  /** Set instead of `charges` after parsing. */
  readonly others?: readonly MeterConfig[] | null
}

/** The meters of a rule. @param path of the rule, if places are needed */
export function metersOf({ category, cost, settle, charges, others }: Metered, path: Path = []): WrittenMeter[] {
  const own = { category, cost, settle }
  const all = charges ?? (others == null ? null : [own, ...others])
  if (all === null) return [{ ...own, path, costAt: [...path, 'cost'] }]
  return all.map((meter) => {
    const at = [...path, 'charges', meter.category ?? '']
    return { ...meter, path: at, costAt: at }
  })
}

/** Whether a request is charged in a meter, as far as that is known. */
export function isCharged({ cost }: Pick<WrittenMeter, 'cost'>): boolean {
  return !(cost?.kind === 'fixed' && cost.cost === 0)
}
