import type { FileSettings } from '../../src/control/settings.ts'
import type { LimitTable } from '../../src/quota/policy.ts'

export const table = (rows: Record<string, Record<string, number>>): LimitTable =>
  new Map(Object.entries(rows).map(([category, row]) => [category, new Map(Object.entries(row))]))

/** Two windows, two categories, and a custom value for reads. */
export const FILE: FileSettings = {
  mode: 'normal',
  windows: [
    { name: '1h', seconds: 3600 },
    { name: '1d', seconds: 86_400 },
  ],
  baselines: {
    personal: table({ read: { '1h': 120, '1d': 1200 }, write: { '1h': 60, '1d': 600 } }),
    global: table({ read: { '1h': 12_000, '1d': 120_000 }, write: { '1h': 6000, '1d': 60_000 } }),
  },
  custom: null,
  global: { enabled: true, multiplier: 1 },
  shadow: false,
}
