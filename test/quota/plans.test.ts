import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createPolicy,
  type OrganisationOverride,
  type Origin,
  type Override,
  payerOf,
  type QuotaSettings,
} from '../../src/quota/policy.ts'
import type { Limit } from '../../src/quota/window.ts'
import { settings, table } from './settings.ts'

const plan = (
  personal: Record<string, Record<string, number>> = {},
  organisation: Record<string, Record<string, number>> = {},
) => ({
  personal: table(personal),
  organisation: table(organisation),
})

const PLANS = new Map([
  ['free', plan({ read: { '1h': 60 } })],
  ['pro', plan({ read: { '1h': 600, '1d': 6000 }, write: { '1h': 300 } })],
  ['team', plan({ read: { '1h': 600, '1d': 6000 } }, { read: { '1d': 50_000, '1h': 5000 } })],
  ['same', plan({ read: { '1h': 120 } })],
  ['twin', plan({ read: { '1d': 6000, '1h': 600 } })],
])

function policyOf(
  changes: Partial<QuotaSettings> = {},
  overrides: Record<string, Partial<Override>> = {},
  organisations: Record<string, OrganisationOverride> = {},
) {
  const whole = Object.entries(overrides).map(([user, override]): [string, Override] => [
    user,
    { limits: table({}), bypassGlobal: false, shadow: false, ...override },
  ])
  const ofUsers = new Map(whole)
  const all = { size: ofUsers.size, get: (user: string) => ofUsers.get(user) }
  return createPolicy(settings({ plans: PLANS, ...changes }), 1, {
    ...all,
    organisations: new Map(Object.entries(organisations)),
  })
}

const of = (plan: string | null, organisation: string | null = null, user = 'alice') => ({ user, organisation, plan })
const numbers = (limits: readonly Limit[] | null) => limits?.map(({ limit }) => limit) ?? null
const personal = (policy: ReturnType<typeof policyOf>, payer = payerOf('alice'), category = 'read') =>
  numbers(policy.limitsFor(category, payer).personal)

describe('a plan', () => {
  it('a plan has its own limits, and what it leaves out follows the baselines', () => {
    const policy = policyOf()
    expect(personal(policy, of('free'))).toEqual([60, 1200])
    expect(personal(policy, of('free'), 'write')).toEqual([60, 600])
    expect(personal(policy, of('pro'), 'write')).toEqual([300, 600])
    expect(personal(policy)).toEqual([120, 1200])
  })

  it.each([
    ['conservative', [45, 900]],
    ['loose', [90, 1800]],
  ] as const)('a plan is multiplied by the factor of mode %s, as the baselines are', (mode, expected) => {
    expect(personal(policyOf({ mode }), of('free'))).toEqual(expected)
  })

  it('a plan keeps its own values in mode custom, which replaces baselines only', () => {
    const custom = { personal: table({ read: { '1h': 7, '1d': 8 } }), global: table({}) }
    expect(personal(policyOf({ mode: 'custom', custom }), of('free'))).toEqual([60, 8])
  })

  it('a plan never changes the limits of all together', () => {
    const policy = policyOf({ global: { enabled: true, multiplier: 2 } })
    for (const name of [null, ...PLANS.keys()]) {
      expect(numbers(policy.limitsFor('read', of(name, 'acme')).global)).toEqual([24_000, 240_000])
    }
  })

  it('a plan limits an organisation in the windows that it names, shortest first, in its categories and under the mode', () => {
    const policy = policyOf({ mode: 'conservative', global: { enabled: true, multiplier: 4 } })
    const { organisation } = policy.limitsFor('read', of('team', 'acme'))
    expect(organisation?.map(({ window, limit }) => [window.name, limit])).toEqual([
      ['1h', 3750],
      ['1d', 37_500],
    ])
    expect(policy.limitsFor('write', of('team', 'acme')).organisation).toBeNull()
    expect(policy.limitsFor('read', of('pro', 'acme')).organisation).toBeNull()
    expect(policy.limitsFor('read', of('team')).organisation).toBeNull()
    expect(policy.limitsFor('read', of(null, 'acme')).organisation).toBeNull()
  })

  it('a plan has the same object as whoever has equal limits, so that a batch sends each set once', () => {
    const policy = policyOf()
    expect(policy.limitsFor('read', of('same'))).toBe(policy.limitsFor('read', of(null)))
    expect(policy.limitsFor('read', of('twin'))).toBe(policy.limitsFor('read', of('team')))
    expect(policy.limitsFor('read', of('team', 'acme'))).toBe(policy.limitsFor('read', of('team', 'other')))
    expect(policy.limitsFor('read', of('pro', 'acme'))).toBe(policy.limitsFor('read', of('pro')))
  })
})

describe('the plan that somebody has', () => {
  const policy = policyOf({ defaultPlan: 'free' }, { bob: { plan: 'pro' }, carol: { plan: 'gone' } })

  it('the plan that somebody has is that of the override, then of the credential, then the default', () => {
    expect(policy.planOf(of('team', null, 'bob'))).toEqual({ name: 'pro', from: 'override', unknown: null })
    expect(policy.planOf(of('team'))).toEqual({ name: 'team', from: 'credential', unknown: null })
    expect(policy.planOf(of(null))).toEqual({ name: 'free', from: 'default', unknown: null })
    expect(personal(policy, of('team', null, 'bob'))).toEqual([600, 6000])
    expect(personal(policy, of('team'))).toEqual([600, 6000])
    expect(personal(policy, of(null))).toEqual([60, 1200])
  })

  it('the plan that somebody has is the default for one that is not configured, and none without a default', () => {
    expect(policy.planOf(of('gold'))).toEqual({ name: 'free', from: 'default', unknown: 'gold' })
    expect(personal(policy, of('gold'))).toEqual([60, 1200])
    expect(policyOf().planOf(of('gold'))).toEqual({ name: null, from: null, unknown: 'gold' })
    expect(personal(policyOf(), of('gold'))).toEqual([120, 1200])
  })

  it('the plan that somebody has is not that of an override whose plan is not configured any more: it rests', () => {
    expect(policy.planOf(of('team', null, 'carol'))).toEqual({ name: 'team', from: 'credential', unknown: null })
    expect(personal(policy, of('team', null, 'carol'))).toEqual([600, 6000])
  })

  it('the plan that somebody has is nothing that anybody asks for without plans', () => {
    const bare = createPolicy(settings())
    expect(bare.planOf(of('gold'))).toBeNull()
    expect(bare.limitsFor('read', of('gold', 'acme'))).toBe(bare.limitsOf('read'))
  })
})

it('an override of an organisation that only multiplies multiplies what the plan of each member has, under the mode, and makes no limit where there is none', () => {
  const policy = policyOf({ mode: 'conservative' }, {}, { acme: { limits: table({}), factor: 2, reason: 'a fair' } })
  expect(numbers(policy.limitsFor('read', of('team', 'acme')).organisation)).toEqual([7500, 75_000])
  expect(numbers(policy.limitsFor('read', of('team', 'other')).organisation)).toEqual([3750, 37_500])
  expect(policy.limitsFor('read', of('pro', 'acme')).organisation).toBeNull()
  expect(personal(policy, of('team', 'acme'))).toEqual([450, 4500])
  expect(policy.trace('read', of('team', 'acme')).organisation?.[0]).toMatchObject({
    source: 'plan team x mode x override of organisation',
    steps: ['plan team: 5000', 'mode conservative x 0.75', 'override of the organisation x 2 (a fair)'],
  })
})

it('an override of an organisation that only multiplies blocks by factor 0 whatever the plan has', () => {
  const policy = policyOf({}, {}, { acme: { limits: table({}), factor: 0 } })
  for (const plan of [null, 'pro', 'team']) {
    expect(numbers(policy.limitsFor('write', of(plan, 'acme')).organisation)).toEqual([0, 0])
  }
})

it('an override of limits replaces those of the plan, and leaves the organisation its own', () => {
  const policy = policyOf({}, { alice: { limits: table({ read: { '1h': 5 } }) } })
  const limits = policy.limitsFor('read', of('team', 'acme'))
  expect(numbers(limits.personal)).toEqual([5, 6000])
  expect(numbers(limits.organisation)).toEqual([5000, 50_000])
  expect(policy.limitsFor('read', of('team', 'acme'))).toBe(limits)
})

it('an override of limits is remembered for each plan by itself: another credential of the user brings its own', () => {
  const policy = policyOf({}, { alice: { limits: table({ read: { '1h': 5 } }) } })
  expect(personal(policy, of('team'))).toEqual([5, 6000])
  expect(personal(policy, of(null))).toEqual([5, 1200])
  expect(personal(policy, of('team'))).toEqual([5, 6000])
})

it('a reserve is kept from new users of every plan', () => {
  const policy = policyOf({ reserve: { share: 0.5, knownAfterMs: 1, rememberMs: 2 } })
  for (const name of [null, ...PLANS.keys()]) {
    expect(numbers(policy.limitsFor('read', of(name, 'acme')).global)).toEqual([6000, 60_000])
  }
})

describe('a trace', () => {
  const origin: Origin = (scope, _category, window, layer) =>
    typeof layer === 'object' ? `tollgate.yaml:${scope} ${window}` : 'tollgate.yaml:22'
  const steps = (policy: ReturnType<typeof policyOf>, payer = of('team', 'acme')) => {
    const { personal, organisation } = policy.trace('read', payer, origin)
    return { personal: personal.map((each) => each.steps), organisation: organisation?.map((each) => each.steps) }
  }

  it('a trace names the plan and its line in the file', () => {
    const policy = policyOf({ mode: 'conservative' })
    expect(steps(policy)).toEqual({
      personal: [
        ['plan team (tollgate.yaml:personal 1h): 600', 'mode conservative x 0.75'],
        ['plan team (tollgate.yaml:personal 1d): 6000', 'mode conservative x 0.75'],
      ],
      organisation: [
        ['plan team (tollgate.yaml:organisation 1h): 5000', 'mode conservative x 0.75'],
        ['plan team (tollgate.yaml:organisation 1d): 50000', 'mode conservative x 0.75'],
      ],
    })
    expect(policy.trace('read', of('team')).personal[0]?.source).toBe('plan team x mode')
    expect(policy.trace('read', of('team')).organisation).toBeNull()
  })

  it('a trace names the baseline for what the plan leaves out', () => {
    expect(steps(policyOf(), of('free')).personal).toEqual([
      ['plan free (tollgate.yaml:personal 1h): 60'],
      ['baseline 1200 (tollgate.yaml:22)'],
    ])
  })

  it('a trace says where the plan is from, if the credential does not name it', () => {
    const policy = policyOf(
      { defaultPlan: 'free' },
      { bob: { plan: 'pro', reason: 'a trial' }, carol: { plan: 'pro', limits: table({ read: { '1h': 1 } }) } },
    )
    const first = (payer: ReturnType<typeof of>) => steps(policy, payer).personal.map(([step]) => step)
    expect(first(of(null))).toEqual([
      'plan free (tollgate.yaml:personal 1h): 60, by default',
      'baseline 1200 (tollgate.yaml:22)',
    ])
    expect(first(of(null, null, 'bob'))[0]).toBe('plan pro (tollgate.yaml:personal 1h): 600, by override (a trial)')
    expect(first(of(null, null, 'carol'))).toEqual([
      'override 1',
      'plan pro (tollgate.yaml:personal 1d): 6000, by override',
    ])
  })

  it('a trace comes to the limits in force, whoever asks', () => {
    const names = fc.constantFrom(null, 'gold', ...PLANS.keys())
    const modes = fc.constantFrom('conservative' as const, 'normal' as const, 'loose' as const)
    fc.assert(
      fc.property(
        names,
        names,
        fc.constantFrom(null, 'acme'),
        modes,
        fc.boolean(),
        (named, set, organisation, mode, enabled) => {
          const override = set === null ? {} : { alice: { plan: set } }
          const policy = policyOf({ mode, global: { enabled, multiplier: 1 }, defaultPlan: 'free' }, override)
          const payer = of(named, organisation)
          const limits = policy.limitsFor('read', payer)
          const trace = policy.trace('read', payer)
          for (const scope of ['personal', 'organisation', 'global'] as const) {
            expect(numbers(trace[scope])).toEqual(numbers(limits[scope]))
            const written = trace[scope]?.map(({ steps: [first = ''] }) =>
              Number(/(\d+)(?:, by \w+)?$/.exec(first)?.[1]),
            )
            const factor = { conservative: 0.75, normal: 1, loose: 1.5 }[mode]
            expect(written?.map((value) => Math.floor(value * factor)) ?? null).toEqual(numbers(limits[scope]))
          }
        },
      ),
    )
  }, 60_000)
})

describe('the override of an organisation', () => {
  const LIMITS = { acme: { read: { '1h': 7 } }, small: { write: { '1d': 5 }, gone: { '1h': 1 }, read: { '2h': 1 } } }
  const policy = (changes: Partial<QuotaSettings> = {}, users: Record<string, Override> = {}, isKnown = () => true) => {
    const organisations = new Map(
      Object.entries(LIMITS).map(([id, limits]) => [id, { limits: table(limits), reason: 'a big event' }]),
    )
    const overrides = Object.assign(new Map(Object.entries(users)), { organisations })
    return createPolicy(settings({ plans: PLANS, ...changes }), 1, overrides, isKnown)
  }
  const theirs = (of: ReturnType<typeof policy>, payer: Parameters<typeof of.limitsFor>[1], category = 'read') =>
    of.limitsFor(category, payer).organisation?.map(({ window, limit }) => [window.name, limit]) ?? null

  it('the override of an organisation replaces limits of the plan as they stand, whatever the mode, and leaves the others to the plan', () => {
    const conservative = policy({ mode: 'conservative' })
    const expected = [
      ['1h', 7],
      ['1d', 37_500],
    ]
    expect(theirs(conservative, of('team', 'acme'))).toEqual(expected)
    expect(theirs(conservative, of('team', 'other'))?.[0]).toEqual(['1h', 3750])
    expect(theirs(conservative, of('team', 'acme', 'bob'))).toEqual(expected)
    expect(numbers(conservative.limitsFor('read', of('team', 'acme')).personal)).toEqual([450, 4500])
  })

  it('the override of an organisation limits also where no plan does, and where there is no plan', () => {
    expect(theirs(policy(), of('free', 'acme'))).toEqual([['1h', 7]])
    expect(theirs(policy(), of(null, 'small'), 'write')).toEqual([['1d', 5]])
    const without = createPolicy(
      settings(),
      1,
      Object.assign(new Map<string, Override>(), {
        organisations: new Map([['acme', { limits: table(LIMITS.acme) }]]),
      }),
    )
    expect(theirs(without, of(null, 'acme'))).toEqual([['1h', 7]])
    expect(without.namesMatter).toBe(true)
    expect(createPolicy(settings()).namesMatter).toBe(false)
  })

  it('the override of an organisation is for its members only, and rests in a category or window that the configuration does not have', () => {
    expect(theirs(policy(), of('free', 'other'))).toBeNull()
    expect(theirs(policy(), of('free'))).toBeNull()
    expect(policy().limitsFor('read', of('team', 'small')).organisation).toHaveLength(2)
    const one = policy()
    expect(one.limitsFor('read', of('team', 'small'))).toBe(one.limitsFor('read', of('team', 'other')))
  })

  it('the override of an organisation is its own, also where another organisation has one for the same plan', () => {
    const both = createPolicy(
      settings({ plans: PLANS }),
      1,
      Object.assign(new Map<string, Override>(), {
        organisations: new Map([
          ['acme', { limits: table({ read: { '1h': 7 } }) }],
          ['small', { limits: table({ read: { '1h': 3 } }) }],
        ]),
      }),
    )
    for (const [organisation, limit] of [
      ['acme', 7],
      ['small', 3],
      ['acme', 7],
    ] as const) {
      expect(theirs(both, of('team', organisation))?.[0]).toEqual(['1h', limit])
    }
  })

  it('the override of an organisation stands beside the override of a member and the reserve, and equal limits are the same object', () => {
    const mine: Override = { limits: table({ read: { '1d': 9 } }), bypassGlobal: true, shadow: false }
    const reserve = { share: 0.5, knownAfterMs: 1, rememberMs: 1 }
    const one = policy({ reserve }, { vip: mine }, () => false)
    const limits = one.limitsFor('read', of('team', 'acme', 'vip'))
    expect([numbers(limits.personal), numbers(limits.organisation), limits.global]).toEqual([
      [600, 9],
      [7, 50_000],
      null,
    ])
    expect(one.limitsFor('read', of('team', 'acme', 'vip'))).toBe(limits)
    expect(one.limitsFor('read', of('team', 'other', 'vip'))).not.toBe(limits)
    const ofNewcomer = one.limitsFor('read', of('team', 'acme'))
    expect([numbers(ofNewcomer.organisation), numbers(ofNewcomer.global)]).toEqual([
      [7, 50_000],
      [6000, 60_000],
    ])
    expect(one.limitsFor('read', of('team', 'acme', 'carol'))).toBe(ofNewcomer)
  })

  it('the override of an organisation is the layer that an explanation names, with its reason', () => {
    const trace = policy().trace('read', of('team', 'acme'))
    expect(trace.organisation?.map(({ source, steps }) => [source, ...steps])).toEqual([
      ['override of organisation', 'override of the organisation: 7 (a big event)'],
      ['plan team', 'plan team: 50000'],
    ])
    expect(policy().trace('read', of('free', 'acme')).organisation).toHaveLength(1)
  })
})
