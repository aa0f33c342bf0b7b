import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bookWindow } from '../../../src/quota/books.ts'
import type { Batch, Charge, Limits } from '../../../src/quota/charge.ts'
import { countedIn, EVERYBODY } from '../../../src/quota/charged-scopes.ts'
import { NO_RETENTION, type Retention } from '../../../src/quota/history.ts'
import type { Window } from '../../../src/quota/window.ts'
import { type EncodedBatch, encodeBatch } from '../../../src/store/redis/charge-batch.ts'
import { createEncoder } from '../../../src/store/redis/charge-encoder.ts'
import { createKeys } from '../../../src/store/redis/keys.ts'
import { runs } from '../../setup/runs.ts'

const keys = createKeys('tollgate')
const NOW = Date.UTC(2028, 1, 29)
const HOURS: readonly Window[] = [
  { name: '1h', seconds: 3600 },
  { name: '5h', seconds: 18_000 },
]
const MONTH: Window = { name: 'month', seconds: 2_707_201, calendar: { unit: 'month', zone: 'UTC' } }
const limitsOf = (limit: number, windows = HOURS) => windows.map((window) => ({ window, limit }))
/** One object for each kind of limits, as the policy makes them. */
const LIMITS: readonly Limits[] = [
  { personal: limitsOf(10), organisation: null, global: null },
  { personal: limitsOf(10), organisation: limitsOf(20), global: null },
  { personal: limitsOf(10), organisation: null, global: limitsOf(30, [{ name: '10s', seconds: 10 }]) },
  { personal: limitsOf(10), organisation: limitsOf(20), global: limitsOf(30) },
  { personal: limitsOf(10), organisation: null, global: limitsOf(30, [MONTH]) },
  { personal: limitsOf(10), organisation: null, global: limitsOf(30), books: bookWindow('Europe/Berlin') },
]
const RETENTIONS: readonly Retention[] = [
  NO_RETENTION,
  { longestSeconds: 60, shorterSeconds: 30, anonymousSeconds: 10, isAnonymous: (user) => user === 'bob' },
  { longestSeconds: 61, shorterSeconds: 30, anonymousSeconds: 10, isAnonymous: (user) => user === 'bob' },
]

const batchOf = (charges: readonly Charge[], refunds: Batch['refunds'] = []): Batch => ({
  instance: 'i',
  sequence: 1,
  refunds,
  charges,
})

/** What is sent, and which of the opened sections each scope of the charges has. */
function partsOf(sent: EncodedBatch, { charges }: Batch) {
  const placeOf = (...[scope, id, category]: Parameters<EncodedBatch['counterOf']>): number =>
    sent.opened.findIndex(({ counter }) => counter === sent.counterOf(scope, id, category))
  const places = charges.map(({ user, organisation, category, limits }) => [
    placeOf('personal', user, category),
    countedIn({ organisation, limits }).organisation.length > 0 &&
      placeOf('organisation', organisation ?? '', category),
    limits.global && placeOf('global', EVERYBODY, category),
  ])
  return {
    keys: sent.keys,
    json: sent.json,
    charges: sent.charges,
    shapes: sent.opened.map(({ shape }) => shape),
    places,
  }
}

const charge: fc.Arbitrary<Charge> = fc
  .record({
    user: fc.constantFrom('alice', 'bob'),
    organisation: fc.constantFrom(null, 'acme', 'other'),
    category: fc.constantFrom('read', 'write'),
    cost: fc.integer({ min: 1, max: 20 }),
    limits: fc.constantFrom(...LIMITS),
    extra: fc.constantFrom(
      {},
      {},
      {},
      { forced: true as const },
      { once: { key: 'k', body: 'b', forMs: 9, replays: 1 } },
    ),
  })
  .map(({ extra, ...plain }) => ({ ...plain, ...extra }))
const asked = fc.record({
  charges: fc.oneof({ weight: 4, arbitrary: charge.map((one) => [one]) }, fc.array(charge, { maxLength: 3 })),
  isRefunded: fc.integer({ max: 5, min: 0 }).map((n) => n === 0),
  retention: fc.constantFrom(...RETENTIONS),
})

describe('the encoder', () => {
  it('the encoder says of any batch, whatever came before, what encodeBatch says', () => {
    fc.assert(
      fc.property(fc.array(asked, { minLength: 20, maxLength: 80 }), (all) => {
        const encode = createEncoder(keys)
        for (const { charges, isRefunded, retention } of all) {
          const decision = { accepted: true, at: NOW, personal: [], organisation: null, global: null }
          const batch = batchOf(charges, isRefunded ? charges.map((each) => ({ charge: each, decision })) : [])
          const expected = encodeBatch(batch, keys, NOW, retention)
          expect(partsOf(encode(batch, NOW, retention), batch)).toEqual(partsOf(expected, batch))
        }
      }),
      { numRuns: runs(200) },
    )
  })

  it('the encoder names the period of each moment in a charge of a calendar', () => {
    const encode = createEncoder(keys)
    const one = { user: 'alice', organisation: null, category: 'read', cost: 1, limits: LIMITS[4] as Limits }
    const periodAt = (now: number) => JSON.parse(encode(batchOf([one]), now, NO_RETENTION).json).periods
    expect(periodAt(NOW)).toEqual([2, 1, Date.UTC(2028, 1, 1), Date.UTC(2028, 2, 1)])
    expect(periodAt(Date.UTC(2028, 2, 1))).toEqual([2, 1, Date.UTC(2028, 2, 1), Date.UTC(2028, 3, 1)])
  })
})
