import { describe, expect, it } from 'vitest'
import { bookWindow } from '../../../src/quota/books.ts'
import type { Batch, Charge, Limits } from '../../../src/quota/charge.ts'
import { encodeBatch } from '../../../src/store/redis/charge-batch.ts'
import { createKeys } from '../../../src/store/redis/keys.ts'
import { chargeOf } from '../../quota/charge-of.ts'

const HOUR = { window: { name: '1h', seconds: 3600 }, limit: 10 }
const limits: Limits = { personal: [HOUR], organisation: null, global: null }
const batchOf = (category: string, of = limits): Batch => ({
  instance: 'i',
  sequence: 1,
  refunds: [],
  charges: [{ user: 'alice', organisation: null, category, cost: 4, limits: of }],
})
const keys = createKeys('tollgate')

describe('a batch', () => {
  it('a batch has the period of each calendar window around the moment of the store, and without such windows no word of them', () => {
    const partsOf = (of: Limits) => JSON.parse(encodeBatch(batchOf('read', of), keys, Date.UTC(2028, 1, 29)).json)
    expect(Object.keys(partsOf(limits))).toEqual(['shapes', 'limits', 'plans'])
    const month = { name: 'month', seconds: 2_707_201, calendar: { unit: 'month', zone: 'UTC' } } as const
    const { shapes, periods } = partsOf({ ...limits, personal: [HOUR, { window: month, limit: 9 }] })
    expect(shapes).toEqual([[3600, 2_707_201, 0, 0, 'read']])
    expect(periods).toEqual([1, 2, Date.UTC(2028, 1, 1), Date.UTC(2028, 2, 1)])
  })

  it('a batch has the day of the books with its window, and no limit for it', () => {
    const of = { ...limits, books: bookWindow('UTC') }
    const { shapes, limits: sent } = JSON.parse(encodeBatch(batchOf('read', of), keys, Date.UTC(2028, 1, 29, 7)).json)
    expect(shapes).toEqual([[3600, 118_800, Date.UTC(2028, 1, 29), Date.UTC(2028, 2, 1), 'read']])
    expect(sent).toEqual([[10]])
  })

  /** Each of another user, who has a key of his own beside that of the instance. */
  const chargesOf = (users: number) =>
    Array.from({ length: users }, (_, i) => ({ user: `u${i}`, organisation: null, category: 'read', cost: 1, limits }))
  /** All of one user, and of another cost each. */
  const unlike = (charges: number) => Array.from({ length: charges }, (_, cost) => chargeOf({ cost, limits }))
  /** Of one user, each in a category of its own. */
  const meters = (count: number): Batch => {
    const [first, ...others] = chargesOf(1).flatMap((charge) =>
      Array.from({ length: count }, (_, i) => ({ ...charge, category: `c${i}` })),
    ) as [Charge, ...Charge[]]
    return { ...batchOf('read'), charges: [{ ...first, others }] }
  }
  const nine: Limits = { personal: Array.from({ length: 9 }, () => HOUR), organisation: null, global: null }
  it.each([
    ['without a category', batchOf('')],
    ['with a category of 33 letters', batchOf('x'.repeat(33))],
    ['with a category that is not ASCII', batchOf('\u00e9')],
    ['with nine windows', batchOf('read', nine)],
    ['with a charge of five meters', meters(5)],
    ['of more users than it has numbers for', { ...batchOf('read'), charges: chargesOf(16_383) }],
    ['of more unlike charges than it has numbers for', { ...batchOf('read'), charges: unlike(16_384) }],
  ])('a batch is not sent %s', (_, batch) => {
    expect(() => encodeBatch(batch, keys)).toThrow(expect.objectContaining({ name: 'StoreError', applied: 'no' }))
  })

  it('a batch is sent with a charge of four meters, of which it names the plans of three beside the first', () => {
    expect(JSON.parse(encodeBatch(meters(4), keys).json).meters).toEqual([[1, 2, 0, 3, 0, 4, 0]])
  })

  it('a batch is sent of as many users as it has numbers for', () => {
    const { keys: names } = encodeBatch({ ...batchOf('read'), charges: chargesOf(16_382) }, keys)
    expect(names).toHaveLength(16_383)
  })
})
