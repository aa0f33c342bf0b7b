import type { QuotaResponse, SettingsResponse } from '../../src/contract/api.ts'

const file: SettingsResponse = {
  mode: 'normal',
  global: { enabled: true, multiplier: 1 },
  baselines: {
    personal: { read: { '1h': 120, '1d': 1200 }, write: { '1h': 60, '1d': 600 } },
    global: { read: { '1h': 12000, '1d': 120000 }, write: { '1h': 6000, '1d': 60000 } },
  },
  custom: null,
  shadow: false,
}

/** An answer to GET /api/quota in which two values were changed at run time. */
export const QUOTA: QuotaResponse = {
  ...file,
  mode: 'loose',
  baselines: { ...file.baselines, personal: { ...file.baselines.personal, read: { '1h': 100, '1d': 1200 } } },
  version: 7,
  factor: 1.5,
  warnings: [],
  adaptive: {
    factor: 1,
    requests: 0,
    failed: 0,
    share: null,
    settled: null,
    trust: 0,
    minRequests: 100,
    why: 'too few requests',
  },
  effective: file.baselines as QuotaResponse['effective'],
  file,
  changed: ['mode', 'baselines.personal.read.1h'],
  categories: ['read', 'write'],
  cheapest: { read: 2, write: 10 },
  windowLengths: [
    { name: '1h', seconds: 3600 },
    { name: '1d', seconds: 86400 },
  ],
  windows: {},
}
