import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Charge, Decision, Limits } from '../../../src/quota/charge.ts'
import { Outage } from '../../../src/quota/ledger/outage.ts'

/** What is owed, against the rule itself: a list of all that was admitted, added up anew for each payment. */

const limitsOf = (seconds: readonly number[], hasGlobal: boolean): Limits => {
  const list = seconds.map((length) => ({ window: { name: `${length}s`, seconds: length }, limit: 1000 }))
  return { personal: list, organisation: null, global: hasGlobal ? list : null }
}
/** Windows become others by a reload, and some users bypass the global scope. */
const LIMITS = [limitsOf([2, 5, 60], true), limitsOf([2, 5, 60], false), limitsOf([3, 5], true)]
const SCOPES = ['personal', 'global'] as const

interface Admission {
  readonly charge: Charge
  readonly decision: Decision
  /** When it was paid; `null` until then. */
  paidAt: number | null
}

type Step =
  | { readonly kind: 'admit'; readonly user: string; readonly cost: number; readonly limits: Limits }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'pay'; readonly meanwhile: number; readonly comesBack: boolean }
  | { readonly kind: 'give back'; readonly which: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('admit' as const),
      user: fc.constantFrom('alice', 'bob'),
      cost: fc.integer({ min: 1, max: 5 }),
      limits: fc.constantFrom(...LIMITS),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 999, 1000, 1500, 5000) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('pay' as const),
      meanwhile: fc.integer({ min: 0, max: 3 }),
      comesBack: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('give back' as const), which: fc.nat(100) }) },
)

it('what is owed to each window of each scope is what was admitted in the local run that lasts', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      play(steps)
    }),
    { numRuns: 500 },
  )
}, 60_000)

function play(steps: readonly Step[]): void {
  const open = new Outage({ share: () => 1, report: () => {} })
  const all: Admission[] = []
  let at = Date.UTC(2026, 7, 6)
  for (const step of steps) {
    if (step.kind === 'pass') at += step.ms
    else if (step.kind === 'admit') all.push(admit(open, step, at))
    else if (step.kind === 'give back') giveBack(open, all.splice(step.which % Math.max(1, all.length), 1))
    else pay(open, all, at, step)
  }
}

function admit(open: Outage, { user, cost, limits }: Extract<Step, { kind: 'admit' }>, at: number): Admission {
  const charge = { user, organisation: null, category: 'read', cost, limits }
  const decision = open.decide(charge, at) as Decision
  open.owe(charge, decision)
  return { charge, decision, paidAt: null }
}

function pay(open: Outage, all: Admission[], at: number, step: Extract<Step, { kind: 'pay' }>): void {
  const owed = all.filter(({ paidAt }) => paidAt === null)
  const payment = open.take(1000, at)
  expect(sums(payment.charges.map((charge) => [charge, charge.limits] as const))).toEqual(
    sums(owed.map((each) => [each.charge, lasting(each, at)] as const)),
  )
  for (let i = 0; i < step.meanwhile; i++) {
    all.push(admit(open, { kind: 'admit', user: 'alice', cost: 1, limits: LIMITS[i % 3] as Limits }, at))
  }
  if (step.comesBack) open.returned(payment)
  else {
    open.settled(payment, payment.charges.map(storeDecision))
    for (const each of owed) each.paidAt = at
  }
}

/** As a store would whose windows all start now. */
function storeDecision({ limits }: Charge): Decision {
  const usages = (list: Limits['personal']) => list.map(() => ({ startedAt: 1, used: 1 }))
  return {
    accepted: true,
    at: 1,
    personal: usages(limits.personal),
    organisation: null,
    global: limits.global === null ? null : usages(limits.global),
  }
}

/** What was not paid is owed no more; what was is asked of the store, in the windows in which it was paid. */
function giveBack(open: Outage, [given]: Admission[]): void {
  if (given === undefined) return
  const refunds = open.giveBack(given) ?? []
  const { charge, paidAt } = given
  const paid = paidAt === null ? [] : [[charge, lasting(given, paidAt)] as const]
  expect(sums(refunds.map((refund) => [refund.charge, refund.charge.limits] as const))).toEqual(sums(paid))
}

/** The windows whose local run, that of the decision, had not ended. */
function lasting({ charge, decision }: Admission, at: number): Limits {
  const of = (scope: (typeof SCOPES)[number]): Limits['personal'] =>
    (charge.limits[scope] ?? []).filter(({ window }, i) => {
      const startedAt = decision[scope]?.[i]?.startedAt ?? 0
      return at < startedAt + window.seconds * 1000
    })
  return { personal: of('personal'), organisation: null, global: of('global') }
}

/** Tokens by scope, user and window. */
function sums(charges: readonly (readonly [Charge, Limits])[]): Record<string, number> {
  const tokens: Record<string, number> = {}
  for (const [{ user, cost }, limits] of charges) {
    for (const scope of SCOPES) {
      for (const { window } of limits[scope] ?? []) {
        const key = `${scope} ${user} ${window.seconds}s`
        tokens[key] = (tokens[key] ?? 0) + cost
      }
    }
  }
  return tokens
}
