import { beforeEach, describe, expect, it } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import type { Charge } from '../../../src/quota/charge.ts'
import { LocalDecisions } from '../../../src/quota/ledger/local-decisions.ts'
import { createOutage, type Outage } from '../../../src/quota/ledger/outage-allowance.ts'

const HOUR_MS = 3_600_000
const LIMITS = { personal: [{ window: { name: '1h', seconds: 3600 }, limit: 100 }], global: null }
const charge = (cost: number, category = 'read'): Charge => ({ user: 'alice', category, cost, limits: LIMITS })

let clock: number
let storeAhead: number
let outage: Outage
let local: LocalDecisions
let seen: Observation[]
beforeEach(() => {
  clock = 5000.7
  storeAhead = Date.UTC(2026, 7, 6)
  seen = []
  outage = createOutage({ share: (category) => (category === 'read' ? 0.1 : 0), tell: () => {} })
  const observe = (observation: Observation): void => void seen.push(observation)
  local = new LocalDecisions({ outage, storeAhead: () => storeAhead, observe, now: () => clock })
  local.setClock()
})

/** The store is paid all that is owed. */
function pay(): void {
  const payment = outage.take(1000, local.time())
  outage.settled(payment, [])
}

describe('the local clock', () => {
  it("is the store's, in whole milliseconds, carried on by our own", () => {
    expect(local.time()).toBe(Date.UTC(2026, 7, 6) + 5000)
    clock += 250
    expect(local.time()).toBe(Date.UTC(2026, 7, 6) + 5250)
    expect(local.decide(charge(1))?.at).toBe(Date.UTC(2026, 7, 6) + 5250)
  })

  it('is set right only when an outage begins', () => {
    storeAhead += HOUR_MS
    expect(local.time()).toBe(Date.UTC(2026, 7, 6) + 5000)
    local.setClock()
    expect(local.time()).toBe(Date.UTC(2026, 7, 6) + HOUR_MS + 5000)
    storeAhead -= 2 * HOUR_MS
    local.setClock()
    expect(local.time()).toBe(Date.UTC(2026, 7, 6) - HOUR_MS + 5000)
  })

  it('stays as it is while something is owed: the right time would end windows that still run', () => {
    local.admit(charge(4))
    storeAhead += 2 * HOUR_MS
    local.setClock()
    expect(local.time()).toBe(Date.UTC(2026, 7, 6) + 5000)
    pay()
    local.setClock()
    expect(local.time()).toBe(Date.UTC(2026, 7, 6) + 2 * HOUR_MS + 5000)
  })

  it('moves the local counters with it, so that no share is handed out twice', () => {
    local.admit(charge(10))
    pay()
    storeAhead += 2 * HOUR_MS
    local.setClock()
    expect(local.decide(charge(1))).toMatchObject({ accepted: false, personal: [{ used: 10 }] })
    clock += HOUR_MS
    expect(local.decide(charge(1))).toMatchObject({ accepted: true, personal: [{ used: 1 }] })
  })
})

describe('a local decision', () => {
  it('is owed if the charge never goes to the store', () => {
    expect(local.admit(charge(4))?.accepted).toBe(true)
    expect(outage.owed()).toBe(4)
    expect(local.admit(charge(7))?.accepted).toBe(false)
    expect(outage.owed()).toBe(4)
  })

  it('is not owed as long as the store may have counted the charge', () => {
    expect(local.decide(charge(4))?.accepted).toBe(true)
    expect(outage.owed()).toBe(0)
  })

  it('is reported with its verdict, also if there is none', () => {
    local.admit(charge(8))
    local.decide(charge(8))
    expect(local.decide(charge(1, 'write'))).toBeNull()
    expect(seen).toEqual([
      { type: 'outage_charge', category: 'read', verdict: 'accepted' },
      { type: 'outage_charge', category: 'read', verdict: 'refused' },
      { type: 'outage_charge', category: 'write', verdict: 'unable' },
    ])
  })
})
