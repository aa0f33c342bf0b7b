import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LimitTable } from '../../src/quota/limit-layers.ts'
import { createPolicy, type Origin, type Override, payerOf, type QuotaSettings } from '../../src/quota/policy.ts'
import type { Limit } from '../../src/quota/window.ts'

const table = (rows: Record<string, Record<string, number>>): LimitTable =>
  new Map(Object.entries(rows).map(([category, row]) => [category, new Map(Object.entries(row))]))
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

function policyOf(changes: Partial<QuotaSettings> = {}, overrides: Record<string, Partial<Override>> = {}) {
  const settings: QuotaSettings = {
    mode: 'normal',
    windows: [
      { name: '1h', seconds: 3600 },
      { name: '1d', seconds: 86_400 },
    ],
    baselines: {
      personal: table({ read: { '1h': 120, '1d': 1200 }, write: { '1h': 60, '1d': 600 } }),
      global: table({ read: { '1h': 12_000, '1d': 120_000 }, write: { '1h': 6000, '1d': 60_000 } }),
    },
    custom: null,
    global: { enabled: true, multiplier: 1 },
    plans: PLANS,
    ...changes,
  }
  const whole = Object.entries(overrides).map(([user, override]): [string, Override] => [
    user,
    { limits: table({}), bypassGlobal: false, shadow: false, ...override },
  ])
  return createPolicy(settings, 1, new Map(whole))
}

const of = (plan: string | null, organisation: string | null = null, user = 'alice') => ({ user, organisation, plan })
const numbers = (limits: readonly Limit[] | null) => limits?.map(({ limit }) => limit) ?? null
const personal = (policy: ReturnType<typeof policyOf>, payer = payerOf('alice'), category = 'read') =>
  numbers(policy.limitsFor(category, payer).personal)

describe('a plan', () => {
  it('has its own limits, and what it leaves out follows the baselines', () => {
    const policy = policyOf()
    expect(personal(policy, of('free'))).toEqual([60, 1200])
    expect(personal(policy, of('free'), 'write')).toEqual([60, 600])
    expect(personal(policy, of('pro'), 'write')).toEqual([300, 600])
    expect(personal(policy)).toEqual([120, 1200])
  })

  it.each([
    ['conservative', [45, 900]],
    ['loose', [90, 1800]],
  ] as const)('is multiplied by the factor of mode %s, as the baselines are', (mode, expected) => {
    expect(personal(policyOf({ mode }), of('free'))).toEqual(expected)
  })

  it('keeps its own values in mode custom, which replaces baselines only', () => {
    const custom = { personal: table({ read: { '1h': 7, '1d': 8 } }), global: table({}) }
    expect(personal(policyOf({ mode: 'custom', custom }), of('free'))).toEqual([60, 8])
  })

  it('never changes the limits of all together', () => {
    const policy = policyOf({ global: { enabled: true, multiplier: 2 } })
    for (const name of [null, ...PLANS.keys()]) {
      expect(numbers(policy.limitsFor('read', of(name, 'acme')).global)).toEqual([24_000, 240_000])
    }
  })

  it('limits an organisation in the windows that it names, shortest first, in its categories and under the mode', () => {
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

  it('has the same object as whoever has equal limits, so that a batch sends each set once', () => {
    const policy = policyOf()
    expect(policy.limitsFor('read', of('same'))).toBe(policy.limitsFor('read', of(null)))
    expect(policy.limitsFor('read', of('twin'))).toBe(policy.limitsFor('read', of('team')))
    expect(policy.limitsFor('read', of('team', 'acme'))).toBe(policy.limitsFor('read', of('team', 'other')))
    expect(policy.limitsFor('read', of('pro', 'acme'))).toBe(policy.limitsFor('read', of('pro')))
  })
})

describe('which plan somebody has', () => {
  const policy = policyOf({ defaultPlan: 'free' }, { bob: { plan: 'pro' }, carol: { plan: 'gone' } })

  it('is that of the override, then of the credential, then the default', () => {
    expect(policy.planOf(of('team', null, 'bob'))).toEqual({ name: 'pro', from: 'override', unknown: null })
    expect(policy.planOf(of('team'))).toEqual({ name: 'team', from: 'credential', unknown: null })
    expect(policy.planOf(of(null))).toEqual({ name: 'free', from: 'default', unknown: null })
    expect(personal(policy, of('team', null, 'bob'))).toEqual([600, 6000])
    expect(personal(policy, of('team'))).toEqual([600, 6000])
    expect(personal(policy, of(null))).toEqual([60, 1200])
  })

  it('is the default for one that is not configured, and none without a default', () => {
    expect(policy.planOf(of('gold'))).toEqual({ name: 'free', from: 'default', unknown: 'gold' })
    expect(personal(policy, of('gold'))).toEqual([60, 1200])
    expect(policyOf().planOf(of('gold'))).toEqual({ name: null, from: null, unknown: 'gold' })
    expect(personal(policyOf(), of('gold'))).toEqual([120, 1200])
  })

  it('is not that of an override whose plan is not configured any more: it rests', () => {
    expect(policy.planOf(of('team', null, 'carol'))).toEqual({ name: 'team', from: 'credential', unknown: null })
    expect(personal(policy, of('team', null, 'carol'))).toEqual([600, 6000])
  })

  it('is nothing that anybody asks for without plans', () => {
    const { plans: _, ...none } = { plans: null }
    const bare = createPolicy({ ...settingsOf(), ...none })
    expect(bare.planOf(of('gold'))).toBeNull()
    expect(bare.limitsFor('read', of('gold', 'acme'))).toBe(bare.limitsOf('read'))
  })
})

function settingsOf(): QuotaSettings {
  const rows = table({ read: { '1h': 1 } })
  return {
    mode: 'normal',
    windows: [{ name: '1h', seconds: 3600 }],
    baselines: { personal: rows, global: rows },
    custom: null,
    global: { enabled: true, multiplier: 1 },
  }
}

describe('an override of limits', () => {
  it('replaces those of the plan, and leaves the organisation its own', () => {
    const policy = policyOf({}, { alice: { limits: table({ read: { '1h': 5 } }) } })
    const limits = policy.limitsFor('read', of('team', 'acme'))
    expect(numbers(limits.personal)).toEqual([5, 6000])
    expect(numbers(limits.organisation)).toEqual([5000, 50_000])
    expect(policy.limitsFor('read', of('team', 'acme'))).toBe(limits)
  })

  it('is remembered for each plan by itself: another credential of the user brings its own', () => {
    const policy = policyOf({}, { alice: { limits: table({ read: { '1h': 5 } }) } })
    expect(personal(policy, of('team'))).toEqual([5, 6000])
    expect(personal(policy, of(null))).toEqual([5, 1200])
    expect(personal(policy, of('team'))).toEqual([5, 6000])
  })
})

describe('a reserve', () => {
  it('is kept from new users of every plan', () => {
    const policy = policyOf({ reserve: { share: 0.5, knownAfterMs: 1, rememberMs: 2 } })
    for (const name of [null, ...PLANS.keys()]) {
      expect(numbers(policy.limitsFor('read', of(name, 'acme')).global)).toEqual([6000, 60_000])
    }
  })
})

describe('a trace', () => {
  const origin: Origin = (scope, _category, window, layer) =>
    typeof layer === 'object' ? `tollgate.yaml:${scope} ${window}` : 'tollgate.yaml:22'
  const steps = (policy: ReturnType<typeof policyOf>, payer = of('team', 'acme')) => {
    const { personal, organisation } = policy.trace('read', payer, origin)
    return { personal: personal.map((each) => each.steps), organisation: organisation?.map((each) => each.steps) }
  }

  it('names the plan and its line in the file', () => {
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

  it('names the baseline for what the plan leaves out', () => {
    expect(steps(policyOf(), of('free')).personal).toEqual([
      ['plan free (tollgate.yaml:personal 1h): 60'],
      ['baseline 1200 (tollgate.yaml:22)'],
    ])
  })

  it('says where the plan is from, if the credential does not name it', () => {
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

  it('comes to the limits in force, whoever asks', () => {
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
  })
})
