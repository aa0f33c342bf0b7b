import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Batch, Charge } from '../../../src/quota/charge.ts'
import type { Retention } from '../../../src/quota/history.ts'
import type { Window } from '../../../src/quota/window.ts'
import { encodeBatch } from '../../../src/store/redis/charge-batch.ts'
import { createKeys, type Keys } from '../../../src/store/redis/keys.ts'
import { runs } from '../../setup/runs.ts'
import { CHARGE_CLOCKED } from './clocked.ts'
import { OwnRedis } from './own-redis.ts'

/** Two texts settle a batch: charge-one.lua one charge whose windows all run, and charge.lua any other. Here each runs without the other. */

const CALL = 'local settled = settle_one(ARGV[4])\nif settled then return settled end'
const [BEFORE, BEHIND] = CHARGE_CLOCKED.split(CALL)
if (BEHIND === undefined) throw new Error('charge-one.lua settles a charge in other words')
/** Gives nothing for a batch that it leaves to the other. */
const ONE = `${BEFORE}return settle_one(ARGV[4])`
const ANY = `${BEFORE}${BEHIND}`

const own = new OwnRedis()

const HOUR = 3_600_000
// Far ahead, so that Redis keeps every key while the test moves the script's clock.
const BEGIN = Date.UTC(2150, 0, 1)
const RETENTION: Retention = {
  longestSeconds: 86_400,
  shorterSeconds: 3600,
  anonymousSeconds: 60,
  isAnonymous: (user) => user === 'bob',
}

const window = (seconds: number): Window => ({ name: `${seconds}s`, seconds })
const limitsOf = (windows: readonly Window[], ...limits: number[]) =>
  windows.map((each, i) => ({ window: each, limit: limits[i] ?? 50 }))
const HOURS = [window(3600), window(18_000), window(172_800)]
const SECONDS = [window(10), window(90)]
const MONTH: Window = { name: 'month', seconds: 2_707_201, calendar: { unit: 'month', zone: 'UTC' } }

/** Sends batches to the quota under a prefix. */
async function send(lua: string, keys: Keys, batch: Batch, now: number): Promise<Buffer | null> {
  const sent = encodeBatch(batch, keys, now, RETENTION)
  const args = [batch.sequence, HOUR, sent.json, sent.charges, 0, Math.floor(now / 1000), (now % 1000) * 1000]
  return own.redis.callBuffer('EVAL', lua, sent.keys.length, ...sent.keys, ...args) as Promise<Buffer | null>
}

const batchOf = (sequence: number, ...charges: readonly Charge[]): Batch => ({
  instance: 'i',
  sequence,
  refunds: [],
  charges,
})

/** Every key with its bytes and the moment at which it ends; the reply ends by the clock of Redis. */
async function stored({ all }: Keys): Promise<Record<string, [string, unknown]>> {
  const names = (await own.redis.keys(`${all}*`)).toSorted()
  const entries = names.map(async (name): Promise<[string, [string, unknown]]> => {
    const [bytes, ends] = await Promise.all([own.redis.getBuffer(name), own.redis.call('PEXPIRETIME', name)])
    return [name.slice(all.length), [bytes?.toString('hex') ?? '', name.includes(':last:') || ends]]
  })
  return Object.fromEntries(await Promise.all(entries))
}

describe('charge-one.lua', () => {
  const limits = fc.constantFrom(limitsOf(HOURS, 9, 20, 40), limitsOf(HOURS, 60, 60, 30), limitsOf(SECONDS, 7, 30))
  const step = fc.record({
    charge: fc.record({
      user: fc.constantFrom('alice', 'bob'),
      organisation: fc.constantFrom(null, 'acme'),
      category: fc.constantFrom('read', 'x'),
      // The last is more than a section has room for.
      cost: fc.constantFrom(1, 2, 3, 4, 5, 2 ** 40),
      limits: fc.record({
        personal: limits,
        organisation: fc.option(limits, { nil: null }),
        global: fc.option(fc.oneof(limits, fc.constant(limitsOf([MONTH], 70))), { nil: null }),
      }),
    }),
    isForced: fc.boolean(),
    pass: fc.constantFrom(0, 0, 0, 1, 500, 9999, 10_000, HOUR, -1, -20_000),
  })

  it('charge-one.lua leaves the same bytes, ends and replies as charge.lua would', { timeout: 120_000 }, async () => {
    let atOnce = 0
    const history = fc.array(step, { minLength: 10, maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const [ours, theirs] = [createKeys(randomUUID()), createKeys(randomUUID())]
        let now = BEGIN
        for (const [i, { charge, isForced, pass }] of steps.entries()) {
          now += pass
          const batch = batchOf(i + 1, isForced ? { ...charge, forced: true } : charge)
          const expected = await send(ANY, theirs, batch, now)
          const settled = await send(ONE, ours, batch, now)
          if (settled !== null) atOnce++
          expect(settled ?? (await send(ANY, ours, batch, now))).toEqual(expected)
          expect(await stored(ours)).toEqual(await stored(theirs))
        }
      }),
      { numRuns: runs(100) },
    )
    expect(atOnce).toBeGreaterThan(0)
  })

  it('charge-one.lua replies to charges of several meters as charge.lua would, whatever was charged before', {
    timeout: 120_000,
  }, async () => {
    let [atOnce, accepted] = [0, 0]
    const meter = step.map(({ charge: { cost, limits: of } }) => ({ cost: Math.min(cost, 5), limits: of }))
    const charge = fc.record({ user: fc.constantFrom('alice', 'bob'), organisation: fc.constantFrom(null, 'acme') })
    const several = fc.record({
      of: charge,
      meters: fc.array(meter, { minLength: 1, maxLength: 4 }),
      pass: fc.constantFrom(0, 1, 500, HOUR),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(several, { minLength: 10, maxLength: 30 }), async (steps) => {
        const [ours, theirs] = [createKeys(randomUUID()), createKeys(randomUUID())]
        let now = BEGIN
        for (const [i, { of, meters, pass }] of steps.entries()) {
          now += pass
          const [first, ...others] = meters.map((each, n) => ({ ...of, category: `c${n}`, ...each }))
          const batch = batchOf(i + 1, { ...(first as Charge), ...(others.length > 0 && { others }) })
          const expected = await send(ANY, theirs, batch, now)
          const settled = await send(ONE, ours, batch, now)
          if (settled !== null && others.length > 0) atOnce++
          if (settled?.toString('latin1', 18, 19) === '1') accepted++
          // What each counter holds is in the next reply.
          expect(settled ?? (await send(ANY, ours, batch, now))).toEqual(expected)
        }
      }),
      { numRuns: runs(100) },
    )
    expect([atOnce, accepted].every((count) => count > 0)).toBe(true)
  })

  const alice: Charge = {
    user: 'alice',
    organisation: 'acme',
    category: 'read',
    cost: 2,
    limits: {
      personal: limitsOf(HOURS, 5, 50, 50),
      organisation: limitsOf(SECONDS),
      global: limitsOf([...HOURS, MONTH]),
    },
  }
  const write: Charge = { ...alice, category: 'write' }
  /** The letter of the reply to a batch after one charge of each category; `null` if the batch is left to charge.lua. */
  async function letterOf(
    batch: Batch,
    after = 1000,
    before: readonly Charge[] = [alice, write],
  ): Promise<string | null> {
    const keys = createKeys(randomUUID())
    for (const [i, charge] of before.entries()) await send(ANY, keys, batchOf(i + 1, charge), BEGIN)
    const reply = await send(ONE, keys, { ...batch, sequence: before.length + 1 }, BEGIN + after)
    return reply?.toString('latin1', 18, 19) ?? null
  }

  it.each<[string, Charge, string]>([
    ['that fits', alice, '1'],
    ['of a category that is not the first under its keys', write, '1'],
    ['that does not fit', { ...alice, cost: 4 }, '0'],
    ['that is forced', { ...alice, cost: 4, forced: true }, '1'],
    ['of nobody else', { ...alice, organisation: null, limits: { ...alice.limits, global: null } }, '1'],
  ])('charge-one.lua settles a charge %s', async (_, charge, letter) => {
    expect(await letterOf(batchOf(0, charge))).toBe(letter)
  })

  const once = { key: 'k', body: 'b', forMs: 1000, replays: 1 }
  const decision = { accepted: true, at: BEGIN, personal: [], organisation: null, global: null }
  it.each<[string, Batch, number?, (readonly Charge[])?]>([
    ['nothing in it', batchOf(0)],
    ['two charges', batchOf(0, alice, alice)],
    ['a refund', { ...batchOf(0, alice), refunds: [{ charge: alice, decision }] }],
    ['a charge that is remembered', batchOf(0, { ...alice, once })],
    [
      'a charge without personal windows',
      batchOf(0, { ...alice, forced: true, limits: { ...alice.limits, personal: [] } }),
    ],
    ['the first charge of a user', batchOf(0, { ...alice, user: 'bob' })],
    ['a charge of other windows', batchOf(0, { ...alice, limits: { ...alice.limits, personal: limitsOf(SECONDS) } })],
    ['a window that is over', batchOf(0, alice), 10_000],
    ['a window that starts in the future', batchOf(0, alice), -1],
  ])('charge-one.lua leaves a batch with %s to charge.lua', async (_, batch, after, before) => {
    expect(await letterOf(batch, after, before)).toBeNull()
  })
})
