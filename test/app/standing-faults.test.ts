import { expect, test } from 'vitest'
import { createStandingFaults } from '../../src/app/standing-faults.ts'
import { createStoreWarnings } from '../../src/app/store-warnings.ts'
import type { Observation, StoreWarning } from '../../src/observe/observation.ts'

test('a fault is a reason as long as it stands', () => {
  const { observer, reasons } = createStandingFaults()
  const refused = { type: 'certificate_refused', problem: 'p', file: 'f' } as const
  observer({ type: 'store_warning', warning: 'eviction', message: 'm' })
  observer({ ...refused, listener: 'gateway', files: 'pair' })
  observer({ ...refused, listener: 'gateway', files: 'client_authorities' })
  observer({ type: 'certificate_loaded', listener: 'gateway', file: 'another', expiresAt: 0 })
  expect(reasons()).toEqual([
    expect.stringContaining('evict'),
    expect.stringContaining('gateway listener is refused'),
    expect.stringContaining('authorities'),
  ])
  observer({ type: 'certificate_loaded', listener: 'admin', file: 'f', expiresAt: 0 })
  observer({ type: 'client_authorities_loaded', file: 'f', authorities: 1, revoked: 0 })
  expect(reasons()).toHaveLength(2)
  observer({ type: 'certificate_loaded', listener: 'gateway', file: 'f', expiresAt: 0 })
  observer({ type: 'store_warning_over', warning: 'eviction' })
  expect(reasons()).toEqual([])
})

test('records that cannot be read are a reason for each list, without their names, until the last of them is over', () => {
  const { observer, reasons } = createStandingFaults()
  const record = { kind: 'override', list: '{tollgate}:overrides' } as const
  for (const id of ['alice', 'bob']) observer({ type: 'unreadable_record', ...record, id })
  expect(reasons()).toEqual([
    'records of {tollgate}:overrides in the store cannot be read and are left out: 2 (the log names them)',
  ])
  observer({ type: 'unreadable_record_over', ...record, id: 'bob' })
  expect(reasons()).toEqual([expect.stringContaining('left out: 1 ')])
  observer({ type: 'unreadable_record_over', ...record, id: 'alice' })
  expect(reasons()).toEqual([])
})

test('what the store has lost is a reason for an hour after the last time, with all of it', () => {
  let time = 0
  const { observer, reasons } = createStandingFaults(() => time)
  observer({ type: 'charges_lost', tokens: 40, since: Date.UTC(2026, 10, 29) })
  observer({ type: 'keys_evicted', keys: 7 })
  time = 3_000_000
  observer({ type: 'keys_evicted', keys: 3 })
  expect(reasons()).toEqual([
    'the store has forgotten up to 40 tokens charged since 2026-11-29T00:00:00.000Z',
    expect.stringMatching(/^Redis has evicted 10 keys since 20.*Z, perhaps counters$/),
  ])
  time = 3_600_000
  expect(reasons()).toHaveLength(1)
  time = 6_600_000
  expect(reasons()).toEqual([])
  observer({ type: 'keys_evicted', keys: 1 })
  expect(reasons()).toEqual([expect.stringContaining('evicted 1 key')])
})

test('a warning of the store is reported when it begins, when it changes and when it is over', () => {
  const seen: Observation[] = []
  const { observe, only } = createStoreWarnings((one) => seen.push(one))
  const look = (found: Partial<Record<StoreWarning, string>>): void => {
    for (const [warning, message] of Object.entries(found))
      observe({ type: 'store_warning', warning: warning as StoreWarning, message })
    only(new Set(Object.keys(found) as StoreWarning[]))
  }
  look({ eviction: 'lru', no_persistence: 'nothing' })
  look({ eviction: 'lru', no_persistence: 'nothing' })
  look({ eviction: 'lfu' })
  look({})
  expect(seen).toEqual([
    { type: 'store_warning', warning: 'eviction', message: 'lru' },
    { type: 'store_warning', warning: 'no_persistence', message: 'nothing' },
    { type: 'store_warning', warning: 'eviction', message: 'lfu' },
    { type: 'store_warning_over', warning: 'no_persistence' },
    { type: 'store_warning_over', warning: 'eviction' },
  ])
})
