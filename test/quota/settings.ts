import type { LimitTable, QuotaSettings } from '../../src/quota/policy.ts'

/** Limits by category and window. */
export const table = (rows: Record<string, Record<string, number>>): LimitTable =>
  new Map(Object.entries(rows).map(([category, row]) => [category, new Map(Object.entries(row))]))

export const WINDOWS = [
  { name: '1h', seconds: 3600 },
  { name: '1d', seconds: 86_400 },
]

/** Those of all together are a hundred times those of each. */
export const BASELINES = {
  personal: table({ read: { '1h': 120, '1d': 1200 }, write: { '1h': 60, '1d': 600 } }),
  global: table({ read: { '1h': 12_000, '1d': 120_000 }, write: { '1h': 6000, '1d': 60_000 } }),
}

export const settings = (change: Partial<QuotaSettings> = {}): QuotaSettings => ({
  mode: 'normal',
  windows: WINDOWS,
  baselines: BASELINES,
  custom: null,
  global: { enabled: true, multiplier: 1 },
  ...change,
})
