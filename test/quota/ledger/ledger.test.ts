import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import type { Batch, Charge, Decision } from '../../../src/quota/charge.ts'
import { createLedger } from '../../../src/quota/ledger/ledger.ts'
import { type Ledger, LedgerFull, type LedgerOptions } from '../../../src/quota/ledger/ledger-contract.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { atEnd } from '../../setup/at-end.ts'
import { chargeOf } from '../charge-of.ts'
import { type Fault, FaultyStore } from './faulty-store.ts'
import { failure, until } from './outcomes.ts'

const LIMITS = {
  personal: [{ window: { name: '1d', seconds: 86_400 }, limit: 1000 }],
  organisation: null,
  global: null,
}
const charge = (cost = 1, user = 'alice'): Charge => chargeOf({ user, cost, limits: LIMITS })

let store: FaultyStore
let seen: Observation[]
beforeEach(() => {
  store = new FaultyStore()
  seen = []
})
function ledger(more: Partial<LedgerOptions> = {}): Ledger {
  const open = createLedger({ store, instance: 'test', deadlineMs: 5000, observe: (o) => seen.push(o), ...more })
  atEnd(() => open.close(0))
  return open
}
/** Holds the store's answers until the function is called. */
function hold(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  store.gate = promise
  return resolve
}
const reported = (type: Observation['type']): Observation[] => seen.filter((o) => o.type === type)
/** Asks a ledger that is at rest for so many charges now, and at each turn of the event loop that follows. */
async function drip(open: Ledger, counts: readonly number[]): Promise<void> {
  await sleep(5)
  const all: Promise<Decision>[] = []
  await new Promise<void>((resolve) => {
    const turn = ([count, ...rest]: readonly number[]): void => {
      if (count === undefined) {
        resolve()
        return
      }
      setImmediate(() => turn(rest))
      for (let i = 0; i < count; i++) all.push(open.charge(charge()))
    }
    turn(counts)
  })
  await Promise.all(all)
}

describe('a ledger', () => {
  it('a caller gets the decision of its own charge', async () => {
    const open = ledger()
    const decisions = await Promise.all([open.charge(charge(600)), open.charge(charge(500)), open.charge(charge(400))])
    expect(decisions.map((d) => d.accepted)).toEqual([true, false, true])
    expect(store.used('alice')).toBe(1000)
  })

  it('a ledger charges of one turn of the event loop go out as one batch', async () => {
    const open = ledger()
    const after = async (steps: number): Promise<Decision> => {
      for (let i = 0; i < steps; i++) await null
      return open.charge(charge())
    }
    await Promise.all(Array.from({ length: 50 }, (_, i) => after(i)))
    expect(store.distinct()).toEqual([50])
  })

  it('a charge that waits behind others is not given up while the store keeps responding', async () => {
    const slow = ledger({
      store: {
        settle: async (batch) => {
          await sleep(200)
          return store.settle(batch)
        },
      },
      deadlineMs: 600,
      maxBatch: 1,
    })
    const decisions = await Promise.all(Array.from({ length: 5 }, () => slow.charge(charge())))
    expect(decisions.map((d) => d.accepted)).toEqual([true, true, true, true, true])
  })

  it('a ledger charges that arrive while a batch is under way go out with the next one', async () => {
    const open = ledger()
    const release = hold()
    const all = [open.charge(charge())]
    await until(() => store.calls.length === 1)
    for (let i = 0; i < 30; i++) {
      all.push(open.charge(charge()))
      await sleep(0)
    }
    release()
    await Promise.all(all)
    expect(store.distinct()).toEqual([1, 30])
  })

  it('a small batch behind one of several charges waits for eight turns without a new charge', async () => {
    const open = ledger({ now: () => 0 })
    await drip(open, [2])
    await drip(open, [1, 0, 0, 0, 0, 0, 0, 0, 1])
    await drip(open, [1, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    expect(store.distinct()).toEqual([2, 2, 1, 1])
  })

  it('the question whether the store takes charges goes out at once if no charge waits', async () => {
    const open = ledger({ now: () => 0 })
    await drip(open, [2])
    await sleep(5)
    const asked = open.ask()
    await new Promise((resolve) => setImmediate(resolve))
    expect(store.distinct()).toEqual([2, 0])
    await asked
    await drip(open, [1, 0, 1])
    expect(store.distinct()).toEqual([2, 0, 2])
  })

  it('a ledger charges of the turn in which a reply comes go out with the next batch', async () => {
    const open = ledger()
    const release = hold()
    const all = [open.charge(charge())]
    await until(() => store.calls.length === 1)
    all.push(open.charge(charge()))
    release()
    for (let i = 0; i < 50; i++) await null
    all.push(open.charge(charge()))
    await Promise.all(all)
    expect(store.distinct()).toEqual([1, 2])
  })

  it('one batch is under way at a time, and none is larger than allowed', async () => {
    const open = ledger({ maxBatch: 8 })
    await Promise.all(Array.from({ length: 20 }, () => open.charge(charge())))
    expect(store.distinct()).toEqual([8, 8, 4])
    expect(store.mostAtOnce).toBe(1)
  })

  it('batches are numbered up from 1', async () => {
    const open = ledger()
    for (let i = 0; i < 3; i++) await open.charge(charge())
    expect(store.calls.map((batch) => batch.sequence)).toEqual([1, 2, 3])
  })

  it('a ledger refuses charges beyond those that may wait', async () => {
    const open = ledger({ maxWaiting: 5 })
    const release = hold()
    const sent = open.charge(charge())
    await until(() => store.calls.length === 1)
    const waiting = Array.from({ length: 5 }, () => open.charge(charge()))
    expect(await failure(open.charge(charge()))).toBeInstanceOf(LedgerFull)
    release()
    await Promise.all([sent, ...waiting])
    expect(store.used('alice')).toBe(6)
  })
})

describe('a batch of unknown outcome', () => {
  it.each(['request_lost', 'reply_lost', 'odd_error'] as const)(
    'a batch of unknown outcome is sent again as it was and charged once: %s',
    async (fault) => {
      store.faults = [fault, fault]
      const decision = await ledger().charge(charge(7))
      expect(decision).toMatchObject({ accepted: true, personal: [{ used: 7 }] })
      expect(store.calls.map((batch) => batch.sequence)).toEqual([1, 1, 1])
      expect(store.used('alice')).toBe(7)
      expect(reported('outcome_unknown')).toEqual([{ type: 'outcome_unknown', charges: 1, settled: true }])
    },
  )

  it('a batch of unknown outcome is sent again although its callers have gone, and what it charged for them is given back', async () => {
    store.otherwise = 'reply_lost'
    const open = ledger({ deadlineMs: 30 })
    expect(await failure(open.charge(charge(7)))).toMatchObject({ name: 'StoreError', reason: 'timeout' })
    expect(store.used('alice')).toBe(7)
    store.otherwise = 'none'
    await until(() => store.used('alice') === 0)
    await open.close(1000)
    expect(store.calls.flatMap((batch) => (batch.sequence === 2 ? batch.refunds : []))).toHaveLength(1)
  })

  it('a batch of unknown outcome keeps its number when the store then certainly refuses it for a while', async () => {
    store.faults = ['reply_lost', 'not_applied', 'not_applied']
    const open = ledger({ deadlineMs: 10 })
    await failure(open.charge(charge(7)))
    await until(() => store.used('alice') === 0)
    expect(store.calls.slice(0, 4).map((batch) => batch.sequence)).toEqual([1, 1, 1, 1])
  })

  it('a batch of unknown outcome is given up in the end, so that later charges get their turn', async () => {
    store.faults = [
      'request_lost',
      'request_lost',
      'request_lost',
      'request_lost',
      'request_lost',
      'request_lost',
      'request_lost',
    ]
    const open = ledger({ giveUpMs: 100 })
    expect(await failure(open.charge(charge(7)))).toMatchObject({ name: 'StoreError', applied: 'unknown' })
    expect(reported('outcome_unknown')).toEqual([{ type: 'outcome_unknown', charges: 1, settled: false }])
    store.faults = []
    expect(await open.charge(charge(1))).toMatchObject({ accepted: true })
    expect(store.calls.at(-1)?.sequence).toBe(2)
  })

  it('a batch that is given up reports how much it was to give back', async () => {
    const open = ledger({ giveUpMs: 100 })
    const mine = charge(7)
    const decision = await open.charge(mine)
    store.otherwise = 'reply_lost'
    open.refund({ charge: mine, decision })
    await until(() => reported('refunds_lost').length > 0)
    await open.close(0)
    expect(reported('refunds_lost')).toEqual([{ type: 'refunds_lost', tokens: 7 }])
    expect(reported('outcome_unknown')).toEqual([])
  })
})

describe('a store that is down', () => {
  it('a store that is down is tried again while somebody waits', async () => {
    store.faults = ['not_applied', 'not_applied', 'not_applied']
    expect(await ledger().charge(charge(7))).toMatchObject({ accepted: true })
    expect(reported('store_failed')).toHaveLength(3)
    expect(reported('store_recovered')).toHaveLength(1)
  })

  it('no caller waits beyond the deadline for a store that is down, and none is charged later', async () => {
    store.otherwise = 'not_applied'
    const open = ledger({ deadlineMs: 40, maxBatch: 2 })
    const failures = await Promise.all(Array.from({ length: 7 }, () => failure(open.charge(charge()))))
    for (const each of failures) expect(each).toBeInstanceOf(StoreError)
    store.otherwise = 'none'
    await until(() => open.outage() === null)
    expect(await open.charge(charge(3))).toMatchObject({ accepted: true })
    expect(store.used('alice')).toBe(3)
  })

  it('a store that never responds holds nobody beyond the deadline', async () => {
    store.otherwise = 'silent'
    const open = ledger({ deadlineMs: 40 })
    const sent = failure(open.charge(charge()))
    await until(() => store.calls.length === 1)
    const queued = failure(open.charge(charge()))
    expect(await sent).toMatchObject({ name: 'StoreError', reason: 'timeout' })
    expect(await queued).toMatchObject({ name: 'StoreError', reason: 'timeout' })
    expect(store.calls).toHaveLength(1)
  })

  it('a store that is down is asked in pauses, whether callers wait or refunds', async () => {
    const open = ledger({ deadlineMs: 100 })
    const accepted = charge(5)
    const decision = await open.charge(accepted)
    store.otherwise = 'not_applied'
    open.refund({ charge: accepted, decision })
    const before = store.calls.length
    const callers = setInterval(() => void failure(open.charge(charge())), 5)
    await sleep(1000)
    // Pauses of 10 to 20 ms that grow to 100 to 200: about 10 in a second, and a few more for a batch whose callers all went.
    expect(store.calls.length - before).toBeLessThan(30)
    await until(() => store.calls.length - before > 4)
    clearInterval(callers)
  })
})

describe('a refund', () => {
  const accepted = charge(5)

  it('a refund goes out with the next batch, before its charges', async () => {
    const open = ledger()
    open.refund({ charge: accepted, decision: await open.charge(accepted) })
    expect(await open.charge(charge(1000))).toMatchObject({ accepted: true })
    expect(store.calls.at(-1)).toMatchObject({ refunds: [{ charge: accepted }], charges: [{ cost: 1000 }] })
  })

  it('a refund goes out without any charge to travel with', async () => {
    const open = ledger()
    open.refund({ charge: accepted, decision: await open.charge(accepted) })
    await until(() => store.used('alice') === 0)
  })

  it.each(['not_applied', 'request_lost', 'reply_lost'] as const)(
    'a refund that meets a store in trouble (%s) arrives once',
    async (fault) => {
      const open = ledger({ deadlineMs: 20 })
      await open.charge(charge(100))
      const decision = await open.charge(accepted)
      store.otherwise = fault
      open.refund({ charge: accepted, decision })
      await Promise.all(Array.from({ length: 3 }, () => failure(open.charge(charge(10)))))
      await sleep(60)
      store.otherwise = 'none'
      await open.close(2000)
      expect(store.used('alice')).toBe(100)
    },
  )

  it('a refund also ends what was refused for want of it while it was on its way', async () => {
    const open = ledger()
    const decision = await open.charge(charge(1000))
    const release = hold()
    const refused = open.charge(charge(5))
    await until(() => store.calls.length === 2)
    open.refund({ charge: charge(1000), decision })
    release()
    expect(await refused).toMatchObject({ accepted: false })
    await until(() => store.used('alice') === 0)
    expect(await open.charge(charge(5))).toMatchObject({ accepted: true })
  })

  it('a refund whose outcome is never learnt is not sent again: it would be given back twice', async () => {
    const open = ledger({ giveUpMs: 60 })
    await open.charge(charge(100))
    const decision = await open.charge(accepted)
    store.otherwise = 'reply_lost'
    open.refund({ charge: accepted, decision })
    await until(() => store.used('alice') === 100)
    await sleep(150)
    store.otherwise = 'none'
    expect(await open.charge(charge(1))).toMatchObject({ personal: [{ used: 101 }] })
    await open.close(1000)
    expect(store.used('alice')).toBe(101)
  })

  it('refunds are split over batches as charges are', async () => {
    const open = ledger({ maxBatch: 4 })
    const decisions = await Promise.all(Array.from({ length: 10 }, () => open.charge(accepted)))
    for (const decision of decisions) open.refund({ charge: accepted, decision })
    await open.close(1000)
    expect(store.used('alice')).toBe(0)
    expect(Math.max(...store.calls.map((batch) => batch.refunds.length))).toBe(4)
  })
})

describe('close', () => {
  it('a ledger that closes settles what waits first', async () => {
    const open = ledger({ maxBatch: 2 })
    const all = Array.from({ length: 6 }, () => open.charge(charge()))
    await open.close(1000)
    expect((await Promise.all(all)).every((d) => d.accepted)).toBe(true)
  })

  it('a ledger that closes gives up at the end of its grace, and every caller gets an error', async () => {
    store.otherwise = 'silent'
    const open = ledger()
    const sent = failure(open.charge(charge()))
    await until(() => store.calls.length === 1)
    const queued = failure(open.charge(charge()))
    await open.close(20)
    for (const each of [await sent, await queued])
      expect(each).toMatchObject({ name: 'StoreError', message: 'the ledger is closed' })
  })

  it('a ledger that closes waits a round trip longer for a store that is far away', async () => {
    const settle = async (batch: Batch) => {
      await sleep(400)
      return store.settle(batch)
    }
    const open = ledger({ store: { settle } })
    await open.charge(charge())
    const sent = open.charge(charge())
    await sleep(10)
    await open.close(200)
    expect(await sent).toMatchObject({ accepted: true })
  })

  it('a closed ledger leaves nothing running: neither charges, nor refunds, nor attempts', async () => {
    const open = ledger()
    const decision = await open.charge(charge(5))
    store.otherwise = 'not_applied'
    open.refund({ charge: charge(5), decision })
    await until(() => store.calls.length > 1)
    await open.close(10)
    await sleep(150)
    const settled = store.calls.length
    open.refund({ charge: charge(5), decision })
    expect(await failure(open.charge(charge()))).toMatchObject({ name: 'StoreError', applied: 'no' })
    await sleep(150)
    expect(store.calls).toHaveLength(settled)
  })

  it('a closed ledger has reported what is unknown, and does not report it as learnt when the store responds after that', async () => {
    const open = ledger()
    store.faults = ['reply_lost']
    const charged = failure(open.charge(charge()))
    await until(() => store.calls.length === 1)
    const release = hold()
    await until(() => store.calls.length === 2)
    await open.close(0)
    release()
    await charged
    await until(() => reported('batch_settled').length === 1)
    expect(reported('outcome_unknown')).toMatchObject([{ charges: 1, settled: false }])
  })

  it('a closed ledger leaves no timer behind that would keep the process', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    // So many that those of the tests before, which end meanwhile, make no difference.
    const all = Array.from({ length: 200 }, () => ledger({ deadlineMs: 600_000 }))
    await Promise.all(all.map((open) => open.charge(charge())))
    await Promise.all(all.map((open) => open.close(0)))
    expect(timers()).toBeLessThan(100)
  })

  it('an idle ledger closes at once, and may be closed again', async () => {
    const open = ledger()
    await open.close(60_000)
    await open.close(60_000)
  })
})

const once = { key: 'k', body: 'a body', forMs: 60_000, replays: 3 }
const keyed = (cost: number, more = {}): Charge => ({ ...charge(cost), once: { ...once, ...more } })

it.each(['request_lost', 'reply_lost', 'odd_error'] as const)(
  'a charge that may come again is charged once if the store and its repetition are in trouble (%s)',
  async (fault) => {
    store.faults = [fault, fault]
    const open = ledger()
    const [first, again] = await Promise.all([open.charge(keyed(7)), open.charge(keyed(7))])
    expect([first.once?.kind, again.once?.kind]).toEqual(['charged', 'replayed'])
    expect(store.used('alice')).toBe(7)
  },
)

it('a charge that may come again is asked of the store although its user was refused a moment ago', async () => {
  const open = ledger()
  await open.charge(keyed(1000))
  expect(await open.charge(charge(1))).toMatchObject({ accepted: false })
  expect(await open.charge(keyed(1000))).toMatchObject({ accepted: true, once: { kind: 'replayed' } })
})

it('a charge that may come again and has the key of another refuses nothing but itself', async () => {
  const open = ledger()
  await open.charge(keyed(7))
  expect(await open.charge(keyed(7, { body: 'another' }))).toMatchObject({
    accepted: false,
    once: { kind: 'reused' },
  })
  expect(await open.charge(charge(7))).toMatchObject({ accepted: true })
})

it('a charge that may come again is charged when it comes again, if its first caller had gone before the store decided', async () => {
  store.otherwise = 'reply_lost'
  const open = ledger({ deadlineMs: 30 })
  expect(await failure(open.charge(keyed(7)))).toMatchObject({ name: 'StoreError' })
  store.otherwise = 'none'
  await until(() => store.used('alice') === 0)
  expect(await open.charge(keyed(7))).toMatchObject({ once: { kind: 'charged' } })
  expect(store.used('alice')).toBe(7)
})

it('a charge that may come again stays charged if its repetition came before it was given back', async () => {
  store.otherwise = 'reply_lost'
  const open = ledger({ deadlineMs: 30 })
  expect(await failure(open.charge(keyed(7)))).toMatchObject({ name: 'StoreError' })
  store.otherwise = 'none'
  // By another gateway, which has the store while this one lacks it.
  const other = ledger({ instance: 'other' })
  const repeated = await other.charge(keyed(7))
  expect(repeated.once?.kind).toBe('replayed')
  await open.close(1000)
  expect(store.used('alice')).toBe(7)
  other.refund({ charge: keyed(7), decision: repeated })
  await other.close(1000)
  expect(store.used('alice')).toBe(0)
})

it('a store that leaves out a decision is an error to the caller concerned', async () => {
  const broken = createLedger({ store: { settle: async () => [] }, instance: 'x', deadlineMs: 1000, observe: () => {} })
  expect(await failure(broken.charge(charge()))).toMatchObject({ name: 'StoreError', applied: 'unknown' })
})

it('whatever the store does, it has counted in the end what was accepted', async () => {
  const fault: fc.Arbitrary<Fault> = fc.constantFrom(
    'none',
    'none',
    'not_applied',
    'request_lost',
    'reply_lost',
    'odd_error',
  )
  const step = fc.record({
    cost: fc.integer({ min: 1, max: 200 }),
    pauseMs: fc.constantFrom(0, 0, 0, 1, 10),
    giveBack: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.array(fault, { maxLength: 12 }), async (steps, faults) => {
      store = new FaultyStore()
      store.faults = faults
      const open = ledger({ deadlineMs: 25, maxBatch: 4, maxWaiting: 12 })
      let counted = 0
      const settled: Promise<unknown>[] = []
      for (const { cost, pauseMs, giveBack } of steps) {
        const asked = charge(cost)
        const take = (decision: Decision): void => {
          if (!decision.accepted) return
          if (giveBack) open.refund({ charge: asked, decision })
          else counted += cost
        }
        settled.push(open.charge(asked).then(take, () => {}))
        if (pauseMs > 0) await sleep(pauseMs)
      }
      await Promise.all(settled)
      await open.close(5000)
      expect(store.used('alice')).toBe(counted)
      expect(store.mostAtOnce).toBeLessThanOrEqual(1)
    }),
    { numRuns: 40 },
  )
}, 60_000)
