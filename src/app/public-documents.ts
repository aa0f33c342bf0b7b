import type { Config } from '../config/config.ts'
import { failureRate } from '../failures/failure-rate.ts'
import type { FailureHistory } from '../failures/histogram.ts'
import type { PublicDocument } from '../gateway/snapshot.ts'
import { PUBLIC_PATHS, type Published } from '../quota/own-paths.ts'
import type { Policy } from '../quota/policy.ts'
import { priceList } from '../reference/price-list.ts'
import { createPublicDocument } from '../reference/public-document.ts'

export interface PublicSources {
  /** The limits in force. */
  readonly policy: () => Policy
  /** The last histogram that was read; `null` for none. */
  readonly failures: () => FailureHistory | null
}

/** The documents that a configuration publishes, by path. */
export function publicDocumentsOf(
  config: Config,
  { policy, failures }: PublicSources,
): ReadonlyMap<string, PublicDocument> {
  const all: Readonly<Record<keyof Published, () => PublicDocument>> = {
    failureRate: () => createPublicDocument({ current: failures, documentOf: failureRate, maxAgeSeconds: 10 }),
    prices: () =>
      createPublicDocument({ current: policy, documentOf: (now) => priceList(config, now), maxAgeSeconds: 60 }),
  }
  const keys = (Object.keys(all) as (keyof Published)[]).filter((key) => config.published[key])
  return new Map(keys.map((key) => [PUBLIC_PATHS[key], all[key]()]))
}
