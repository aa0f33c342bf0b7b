import type { Observer, StoreWarning } from '../observe/observation.ts'

/** What is wrong with a store that works, reported when it begins and when it is over. */
export interface StoreWarnings {
  /** Of the store: a warning that holds already is reported no second time. */
  readonly observe: Observer
  begin(warning: StoreWarning, message: string): void
  /** These hold, and no others. */
  only(warnings: ReadonlySet<StoreWarning>): void
}

/** For all stores of a gateway, one of which takes the place of another. */
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
