import { describe, expect, it } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import { type Outcome, Sender } from '../../../src/quota/ledger/sender.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'

const MINUTE = 60_000
const BATCH = { instance: 'test', sequence: 1, refunds: [], charges: [] }
const FOREVER = { isWanted: () => true, isOver: () => false }

/** Sends one batch to a store that fails for ever, and takes so long for it each time. @returns after how long it was given up */
async function givenUp(error: unknown, eachMs: number): Promise<{ outcome: Outcome; afterMs: number }> {
  let clock = 0
  const settle = (): Promise<never> => {
    clock += eachMs
    return Promise.reject(error)
  }
  const observe = (_: Observation): void => {}
  const sender = new Sender({
    store: { settle },
    deadlineMs: 250,
    giveUpMs: 30 * MINUTE,
    observe,
    now: () => clock,
    random: () => 0,
  })
  return { outcome: await sender.send(BATCH, FOREVER), afterMs: clock }
}

describe('a batch that may have been applied is given up', () => {
  it('a batch that may have been applied is given up after giveUpMs if the connection is to blame', async () => {
    const { outcome, afterMs } = await givenUp(new StoreError('lost', 'connection', 'unknown'), 10 * MINUTE)
    expect([outcome, afterMs]).toMatchObject([{ settled: false, uncertain: true }, 40 * MINUTE])
  })

  it.each([
    ['a reply that cannot be understood', new StoreError('unexpected reply', 'other', 'unknown')],
    ['an error of no known kind', new TypeError('bug')],
  ])(
    'a batch is given up after 5 seconds if the fault is %s: all other charges wait behind it',
    async (_what, error) => {
      const { outcome, afterMs } = await givenUp(error, 1500)
      expect([outcome, afterMs]).toMatchObject([{ settled: false, uncertain: true }, 6000])
    },
  )

  it('a batch is not sent again if the process was stopped for so long that the store has forgotten it', async () => {
    let [clock, calls] = [0, 0]
    const settle = async (): Promise<never> => {
      calls++
      throw new StoreError('lost', 'connection', 'unknown')
    }
    const stopped = (): number => {
      clock += 61 * MINUTE
      return 0
    }
    const options = { store: { settle }, deadlineMs: 250, giveUpMs: 30 * MINUTE, observe: () => {}, now: () => clock }
    const outcome = await new Sender({ ...options, random: stopped }).send(BATCH, FOREVER)
    expect([outcome, calls]).toMatchObject([{ settled: false, uncertain: true }, 1])
  })
})

it.each([
  ['slept', 61 * MINUTE, 1],
  ['had its clock set back', -61 * MINUTE, 2],
])(
  'a batch whose machine %s between two tries is sent again only while the store surely remembers it',
  async (_, byMs, tries) => {
    let [wall, calls] = [0, 0]
    const settle = async () => {
      calls++
      if (calls === 1) throw new StoreError('lost', 'connection', 'unknown')
      return []
    }
    const asleep = (): number => {
      wall += byMs
      return 0
    }
    const options = { store: { settle }, deadlineMs: 250, giveUpMs: 30 * MINUTE, observe: () => {}, now: () => 0 }
    const outcome = await new Sender({ ...options, wall: () => wall, random: asleep }).send(BATCH, FOREVER)
    expect([outcome.settled, calls]).toEqual([tries === 2, tries])
  },
)

it('a batch is not sent again if it is over between two tries', async () => {
  let [isOver, calls] = [false, 0]
  const settle = async (): Promise<never> => {
    calls++
    throw new StoreError('down', 'connection', 'no')
  }
  const closing = (): number => {
    isOver = true
    return 0
  }
  const options = {
    store: { settle },
    deadlineMs: 250,
    giveUpMs: 30 * MINUTE,
    observe: () => {},
    now: () => 0,
    random: closing,
  }
  const outcome = await new Sender(options).send(BATCH, { isWanted: () => true, isOver: () => isOver })
  expect([outcome, calls]).toMatchObject([{ settled: false, uncertain: false }, 1])
})

it('the round trip of a store is that of its last response, and three deadlines at most', async () => {
  let [clock, takes] = [0, 0]
  const settle = async (): Promise<never[]> => {
    clock += takes
    if (takes === 5000) throw new StoreError('lost', 'timeout', 'unknown')
    return []
  }
  const options = { deadlineMs: 250, giveUpMs: 30 * MINUTE, observe: () => {}, now: () => clock, random: () => 0 }
  const sender = new Sender({ store: { settle }, ...options })
  expect(sender.roundTrip).toBe(0)
  const after = async (ms: number): Promise<number> => {
    takes = ms
    const sent = sender.send(BATCH, { isWanted: () => true, isOver: () => takes === 5000 })
    await sent
    return sender.roundTrip
  }
  expect([await after(600), await after(40), await after(5000), await after(900)]).toEqual([600, 40, 40, 750])
})
