import type { Observer, StoreWarning } from '../observe/observation.ts'

/** Reports faults of a working store when they begin and when they end. */
export interface StoreWarnings {
  /** The Observer for the store. A warning that is known already is not reported again. */
  readonly observe: Observer
  begin(warning: StoreWarning, message: string): void
  /** Ends all warnings except these. */
  only(warnings: ReadonlySet<StoreWarning>): void
}

/** Made once for all stores of a gateway, because one of them may replace another. */
export function createStoreWarnings(observe: Observer): StoreWarnings {
  const holding = new Map<StoreWarning, string>()

  function begin(warning: StoreWarning, message: string): void {
    if (holding.get(warning) === message) return
    holding.set(warning, message)
    observe({ type: 'store_warning', warning, message })
  }

  function only(warnings: ReadonlySet<StoreWarning>): void {
    for (const warning of [...holding.keys()].filter((one) => !warnings.has(one))) {
      holding.delete(warning)
      observe({ type: 'store_warning_over', warning })
    }
  }

  return {
    observe: (seen) => (seen.type === 'store_warning' ? begin(seen.warning, seen.message) : observe(seen)),
    begin,
    only,
  }
}
