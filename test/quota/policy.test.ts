import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bookWindow } from '../../src/quota/books.ts'
import {
  createPolicy,
  type Mode,
  modeFactor,
  type Origin,
  type Override,
  type Policy,
  payerOf,
  type QuotaSettings,
} from '../../src/quota/policy.ts'
import { BASELINES, settings, table, WINDOWS } from './settings.ts'

const CUSTOM = {
  personal: table({ read: { '1h': 7, '1d': 8 }, write: { '1h': 9, '1d': 10 } }),
  global: table({ read: { '1h': 70, '1d': 80 }, write: { '1h': 90, '1d': 100 } }),
}
const numbers = (limits: readonly { limit: number }[] | null): number[] | null =>
  limits?.map(({ limit }) => limit) ?? null
/** A policy with one override, for alice. */
const withOverride = (override: Partial<Override>, change: Partial<QuotaSettings> = {}): Policy =>
  createPolicy(
    settings(change),
    1,
    new Map([['alice', { limits: table({}), bypassGlobal: false, shadow: false, ...override }]]),
  )

/** The limit of one baseline under a mode, a share for `adaptive`, and a multiplier, in both scopes. */
function oneLimit(
  baseline: number,
  mode: Mode,
  adaptive: number,
  multiplier: number,
): { personal: number; global: number } {
  const of = table({ read: { '1h': baseline } })
  const policy = createPolicy(
    settings({
      mode,
      windows: [WINDOWS[0] as (typeof WINDOWS)[0]],
      baselines: { personal: of, global: of },
      global: { enabled: true, multiplier },
    }),
    adaptive,
  )
  const { personal, global } = policy.limitsOf('read')
  return { personal: personal[0]?.limit ?? NaN, global: global?.[0]?.limit ?? NaN }
}

describe('the limits in force', () => {
  it('the limits in force are the baselines in mode normal, window by window in the order of the settings', () => {
    const { personal, global } = createPolicy(settings()).limitsOf('read')
    expect(personal).toEqual([
      { window: WINDOWS[0], limit: 120 },
      { window: WINDOWS[1], limit: 1200 },
    ])
    expect(numbers(global)).toEqual([12_000, 120_000])
  })

  it.each([
    ['conservative', [90, 900], [9000, 90_000]],
    ['normal', [120, 1200], [12_000, 120_000]],
    ['loose', [180, 1800], [18_000, 180_000]],
    ['adaptive', [132, 1320], [13_200, 132_000]],
  ] as const)('in mode %s follow its factor', (mode, personal, global) => {
    const limits = createPolicy(settings({ mode }), 1.1).limitsOf('read')
    expect([numbers(limits.personal), numbers(limits.global)]).toEqual([personal, global])
  })

  it('in mode custom are the explicit values, whatever the adaptive share', () => {
    const limits = createPolicy(settings({ mode: 'custom', custom: CUSTOM }), 0.75).limitsOf('write')
    expect([numbers(limits.personal), numbers(limits.global)]).toEqual([
      [9, 10],
      [90, 100],
    ])
  })

  it('in mode custom are the baselines where no explicit value was set, without any factor', () => {
    const custom = { personal: table({ read: { '1h': 7 } }), global: table({}) }
    const limits = createPolicy(settings({ mode: 'custom', custom }), 0.75).limitsOf('read')
    expect([numbers(limits.personal), numbers(limits.global)]).toEqual([
      [7, 1200],
      [12_000, 120_000],
    ])
    expect(createPolicy(settings({ mode: 'custom' })).limitsOf('write')).toEqual(
      createPolicy(settings()).limitsOf('write'),
    )
  })

  it('in another mode ignore the explicit values', () => {
    expect(numbers(createPolicy(settings({ custom: CUSTOM })).limitsOf('write').personal)).toEqual([60, 600])
  })

  it('the limits in force multiply the global scope only', () => {
    const { personal, global } = createPolicy(settings({ global: { enabled: true, multiplier: 0.25 } })).limitsOf(
      'read',
    )
    expect([numbers(personal), numbers(global)]).toEqual([
      [120, 1200],
      [3000, 30_000],
    ])
  })

  it('the limits in force have no global scope when it is switched off', () => {
    expect(createPolicy(settings({ global: { enabled: false, multiplier: 1 } })).limitsOf('read').global).toBeNull()
  })

  it('the limits in force are the same objects for every request, so that a batch can send each set once', () => {
    const policy = createPolicy(settings())
    expect(policy.limitsOf('read')).toBe(policy.limitsOf('read'))
  })

  it('the limits in force are not to be had for a category that the settings do not name', () => {
    const policy = createPolicy(settings())
    expect(policy.categories).toEqual(['read', 'write'])
    for (const category of ['admin', 'constructor', '__proto__', ''])
      expect(() => policy.limitsOf(category)).toThrow(category)
  })

  it('the limits in force of a category are in the windows that it names, in each scope by itself', () => {
    const baselines = {
      personal: table({ read: { '1d': 100 }, login: { '1h': 5 } }),
      global: table({ login: { '1d': 900 } }),
    }
    const policy = createPolicy(
      settings({ baselines, custom: { personal: table({ login: { '1d': 7 } }), global: table({}) } }),
    )
    const named = (category: string) => {
      const { personal, global } = policy.limitsOf(category)
      return [personal, global ?? []].map((limits) => limits.map(({ window, limit }) => `${window.name} ${limit}`))
    }
    expect([named('read'), named('login')]).toEqual([
      [['1d 100'], []],
      [['1h 5'], ['1d 900']],
    ])
  })

  it('the limits in force of an override are in windows that the category does not name as well', () => {
    const baselines = { personal: table({ login: { '1d': 100 } }), global: table({}) }
    const override = { limits: table({ login: { '1h': 5 } }), bypassGlobal: false, shadow: false }
    const policy = createPolicy(settings({ baselines }), 1, new Map([['alice', override]]))
    const { personal } = policy.limitsFor('login', payerOf('alice'))
    expect(personal.map(({ window, limit }) => [window.name, limit])).toEqual([
      ['1h', 5],
      ['1d', 100],
    ])
    expect(policy.trace('login', payerOf('alice')).personal.map(({ source }) => source)).toEqual([
      'override',
      'baseline',
    ])
  })
})

describe('rounding', () => {
  /** A decimal text as a fraction of whole numbers. */
  function fraction(text: string): [bigint, bigint] {
    const [whole = '', decimals = ''] = text.split('.')
    return [BigInt(whole + decimals), 10n ** BigInt(decimals.length)]
  }
  function exactly(baseline: number, ...factors: string[]): number {
    let [over, under] = [BigInt(baseline), 1n]
    for (const [a, b] of factors.map(fraction)) [over, under] = [over * a, under * b]
    const floor = Number(over / under)
    return baseline >= 1 && floor < 1 ? 1 : floor
  }
  const decimal = (min: number, max: number, places: number): fc.Arbitrary<string> =>
    fc.integer({ min: min * 10 ** places, max: max * 10 ** places }).map((n) => (n / 10 ** places).toFixed(places))

  it.each([
    [100, 1.1, 110],
    [100, 1.15, 115],
    [1000, 1.001, 1001],
    [3, 1.1, 3],
    [10, 1.3, 13],
    [100, 1.2299999999, 122],
    [1, 0.75, 1],
    [0, 1.5, 0],
    [999_999_999_999, 1.4999, 1_000_000_000_000],
  ])('%d x %d is %d', (baseline, factor, limit) => {
    expect(oneLimit(baseline, 'adaptive', factor, 1).personal).toBe(limit)
  })

  it('rounding goes down after the last multiplication, not between', () => {
    expect(oneLimit(5, 'conservative', 1, 4)).toEqual({ personal: 3, global: 15 })
  })

  it('rounding agrees with exact fractions for any baseline, factor and multiplier', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10 ** 12 }),
        decimal(0.75, 1.5, 6),
        decimal(0.25, 4, 6),
        (baseline, factor, multiplier) => {
          // Counters hold no more.
          expect(oneLimit(baseline, 'adaptive', Number(factor), Number(multiplier))).toEqual({
            personal: Math.min(10 ** 12, exactly(baseline, factor)),
            global: Math.min(10 ** 12, exactly(baseline, factor, multiplier)),
          })
        },
      ),
      { numRuns: 2000 },
    )
  }, 60_000)

  it('rounding agrees with exact fractions for small baselines, where a slip shows most', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2000 }),
        decimal(0.75, 1.5, 3),
        decimal(0.25, 4, 2),
        (baseline, factor, multiplier) => {
          const { global } = oneLimit(baseline, 'adaptive', Number(factor), Number(multiplier))
          expect(global).toBe(exactly(baseline, factor, multiplier))
        },
      ),
      { numRuns: 2000 },
    )
  }, 60_000)
})

it('an override replaces the personal limits it names as they stand, and the others follow the default', () => {
  const policy = withOverride({ limits: table({ read: { '1h': 5000 } }) }, { mode: 'conservative' })
  expect(policy.limitsFor('read', payerOf('alice')).personal).toEqual([
    { window: WINDOWS[0], limit: 5000 },
    { window: WINDOWS[1], limit: 900 },
  ])
  expect(policy.limitsFor('read', payerOf('alice')).global).toEqual(policy.limitsOf('read').global)
})

it('an override holds in every mode, custom and adaptive too', () => {
  for (const mode of ['conservative', 'loose', 'adaptive', 'custom'] as const) {
    const policy = withOverride({ limits: table({ read: { '1h': 5000 } }) }, { mode, custom: CUSTOM })
    expect(policy.limitsFor('read', payerOf('alice')).personal[0]?.limit).toBe(5000)
  }
})

it('an override of zero shuts a user out', () => {
  const policy = withOverride({ limits: table({ read: { '1h': 0 } }) })
  expect(numbers(policy.limitsFor('read', payerOf('alice')).personal)).toEqual([0, 1200])
})

it('an override concerns its own user only', () => {
  const policy = withOverride({ limits: table({ read: { '1h': 5 } }), bypassGlobal: true, shadow: true })
  for (const user of ['bob', 'Alice', '', '__proto__']) {
    expect(policy.limitsFor('read', payerOf(user))).toBe(policy.limitsOf('read'))
    expect(policy.isShadowed(user)).toBe(false)
  }
  expect(policy.isShadowed('alice')).toBe(true)
})

it('an override of another category changes nothing, not even the object', () => {
  const policy = withOverride({ limits: table({ write: { '1h': 5 } }), shadow: true })
  expect(policy.limitsFor('read', payerOf('alice'))).toBe(policy.limitsOf('read'))
})

it('an override rests for a window or a category that the settings do not name', () => {
  const policy = withOverride({ limits: table({ read: { '2h': 5 }, admin: { '1h': 5 } }) })
  expect(policy.limitsFor('read', payerOf('alice'))).toBe(policy.limitsOf('read'))
  expect(() => policy.limitsFor('admin', payerOf('alice'))).toThrow('no limits for category admin')
})

it('an override may take the user out of the global scope, never out of the personal one', () => {
  const policy = withOverride({ bypassGlobal: true })
  expect(policy.limitsFor('read', payerOf('alice'))).toEqual({
    personal: policy.limitsOf('read').personal,
    organisation: null,
    global: null,
  })
})

it('an override brings no global scope back that is switched off', () => {
  const off = withOverride({ limits: table({ read: { '1h': 5 } }) }, { global: { enabled: false, multiplier: 1 } })
  expect(off.limitsFor('read', payerOf('alice')).global).toBeNull()
})

it('an override gives the same object for every request of the user, so that what is remembered of it stays true', () => {
  const policy = withOverride({ limits: table({ read: { '1h': 5 }, write: { '1d': 7 } }) })
  const read = policy.limitsFor('read', payerOf('alice'))
  expect(policy.limitsFor('write', payerOf('alice'))).not.toBe(read)
  expect(policy.limitsFor('read', payerOf('alice'))).toBe(read)
})

const LINES: Record<string, number> = { personal: 22, global: 27 }
const origin: Origin = (scope, _category, window, layer) =>
  window === '1d' ? null : `tollgate.yaml:${(LINES[scope] ?? 0) + (layer === 'custom' ? 100 : 0)}`
const told = (policy: Policy, user = 'bob') => {
  const { personal, global, noGlobal } = policy.trace('read', payerOf(user), origin)
  const line = (trace: { limit: number; source: string; steps: readonly string[] } | undefined) =>
    trace && [trace.limit, trace.source, ...trace.steps]
  return { personal: line(personal[0]), global: line(global?.[0]), noGlobal }
}

it('the way of a limit names the layers and the line in the file', () => {
  const policy = createPolicy(settings({ mode: 'conservative', global: { enabled: true, multiplier: 2 } }))
  expect(told(policy)).toEqual({
    personal: [90, 'baseline x mode', 'baseline 120 (tollgate.yaml:22)', 'mode conservative x 0.75'],
    global: [
      18_000,
      'baseline x mode x multiplier',
      'baseline 12000 (tollgate.yaml:27)',
      'mode conservative x 0.75',
      'multiplier x 2',
    ],
    noGlobal: null,
  })
  expect(policy.trace('read', payerOf('bob'), origin).personal[1]?.steps[0]).toBe('baseline 1200')
  expect(policy.trace('read', payerOf('bob')).personal[0]?.steps[0]).toBe('baseline 120')
})

it('the way of a limit names no factor of 1, and neither does the source of a limit that others share', () => {
  const policy = withOverride({ factor: 1, reason: 'as before' })
  const [ofAlice, ofBob] = ['alice', 'bob'].map((user) => policy.sourceOf('read', payerOf(user), 'personal', '1h'))
  expect([ofAlice, ofBob]).toEqual(['baseline', 'baseline'])
  expect(policy.followsSettings('read', payerOf('alice'), '1h')).toBe(true)
  const own = withOverride({ limits: table({ read: { '1h': 7 } }), factor: 1, reason: 'as before' })
  expect(told(own, 'alice').personal).toEqual([7, 'override', 'override 7 (as before)'])
})

it('an override for one organisation that would not lower a limit leaves it to the settings, and one that lowers it does not', () => {
  const override = { limits: table({ read: { '1h': 120, '1d': 1199 } }), within: 'lab' }
  const policy = withOverride(override)
  const payer = { user: 'alice', organisation: 'lab', plan: null }
  const of = (window: string) => [
    policy.sourceOf('read', payer, 'personal', window),
    policy.layerOf('personal', 'read', payer, window),
    policy.followsSettings('read', payer, window),
  ]
  expect(of('1h')).toEqual(['baseline', 'baselines', true])
  expect(of('1d')).toEqual(['override', 'override', false])
})

it('the way of a limit leaves out a layer that changes nothing, but for the adaptive one, which may at any moment', () => {
  expect(told(createPolicy(settings())).personal).toEqual([120, 'baseline', 'baseline 120 (tollgate.yaml:22)'])
  expect(told(createPolicy(settings({ mode: 'adaptive' }), 1)).personal).toEqual([
    120,
    'baseline x mode',
    'baseline 120 (tollgate.yaml:22)',
    'mode adaptive x 1',
  ])
})

it('the way of a limit names where it was rounded', () => {
  expect(told(createPolicy(settings({ mode: 'adaptive' }), 1.11)).personal?.slice(2)).toEqual([
    'baseline 120 (tollgate.yaml:22)',
    'mode adaptive x 1.11',
    'rounded to 133',
  ])
})

it('the way of a limit keeps explicit values apart from baselines in mode custom', () => {
  const custom = { personal: table({ read: { '1h': 7 } }), global: table({}) }
  expect(told(createPolicy(settings({ mode: 'custom', custom })))).toMatchObject({
    personal: [7, 'custom', 'custom 7 (tollgate.yaml:122)'],
    global: [12_000, 'baseline', 'baseline 12000 (tollgate.yaml:27)'],
  })
})

it('the way of a limit names an override and a bypass with their reason', () => {
  const override = { limits: table({ read: { '1h': 5000 } }), bypassGlobal: true, reason: 'load test until Friday' }
  const policy = withOverride(override, { mode: 'loose' })
  expect(told(policy, 'alice')).toEqual({
    personal: [5000, 'override', 'override 5000 (load test until Friday)'],
    global: undefined,
    noGlobal: { bypass: 'load test until Friday' },
  })
  expect(policy.trace('read', payerOf('alice')).personal[1]).toMatchObject({ limit: 1800, source: 'baseline x mode' })
  const within = withOverride({ ...override, bypassGlobal: false })
  expect(within.trace('read', payerOf('alice')).global?.[0]).toMatchObject({ limit: 12_000, source: 'baseline' })
  const busy = withOverride({ ...override, factor: 2, reason: 'a busy week', beneath: override.reason })
  expect(told(busy, 'alice')).toMatchObject({ noGlobal: { bypass: 'load test until Friday' } })
  const silent = withOverride({ limits: override.limits, bypassGlobal: true })
  expect(told(silent, 'alice')).toMatchObject({
    personal: [5000, 'override', 'override 5000'],
    noGlobal: { bypass: '' },
  })
})

it('the way of a limit that only multiplies follows the mode, says so, and lets nothing pass by factor 0', () => {
  const half = { factor: 1.5, reason: 'a big event' }
  expect(numbers(withOverride(half).limitsFor('read', payerOf('alice')).personal)).toEqual([180, 1800])
  const policy = withOverride({ ...half, limits: table({ read: { '1d': 5001 } }) }, { mode: 'conservative' })
  expect(numbers(policy.limitsFor('read', payerOf('alice')).personal)).toEqual([135, 7501])
  expect(policy.trace('read', payerOf('alice')).personal).toMatchObject([
    {
      source: 'baseline x mode x override',
      steps: ['baseline 120', 'mode conservative x 0.75', 'override x 1.5 (a big event)'],
    },
    { source: 'override', steps: ['override 5001', 'override x 1.5 (a big event)', 'rounded to 7501'] },
  ])
  const blocked = withOverride({ factor: 0, limits: table({ read: { '1d': 5000 } }) })
  expect(numbers(blocked.limitsFor('read', payerOf('alice')).personal)).toEqual([0, 0])
  expect(numbers(blocked.limitsFor('read', payerOf('bob')).personal)).toEqual([120, 1200])
})

it('the way of a limit says that a product of a factor was rounded if and only if it was', () => {
  const millionths = fc.oneof(
    fc.integer({ min: 0, max: 10_000_000 }),
    fc.integer({ min: 0, max: 1000 }).map((n) => n * 10_000),
  )
  const limit = fc.oneof(fc.integer({ min: 0, max: 1000 }), fc.integer({ min: 0, max: 1e9 }))
  fc.assert(
    fc.property(limit, limit, millionths, fc.boolean(), (baseline, own, factor, hasOwn) => {
      const limits = table(hasOwn ? { read: { '1h': own } } : {})
      const baselines = { ...BASELINES, personal: table({ read: { '1h': baseline } }) }
      const policy = withOverride({ factor: factor / 1e6, limits }, { baselines })
      const [traced] = policy.trace('read', payerOf('alice')).personal
      const product = BigInt(hasOwn ? own : baseline) * BigInt(factor)
      const isWhole = product === BigInt(traced?.limit ?? -1) * 1_000_000n
      expect(traced?.steps.filter((step) => step.startsWith('rounded'))).toEqual(
        isWhole ? [] : [`rounded to ${traced?.limit}`],
      )
    }),
  )
}, 60_000)

it('the way of a limit says that the global scope is switched off, which leaves a bypass nothing to change', () => {
  const policy = withOverride({ bypassGlobal: true }, { global: { enabled: false, multiplier: 1 } })
  expect(policy.trace('read', payerOf('alice')).noGlobal).toBe('switched off')
  expect(policy.limitsFor('read', payerOf('alice'))).toBe(policy.limitsOf('read'))
})

it('the way of a limit says that all users together have no limit, which leaves a bypass nothing to change', () => {
  const baselines = { personal: BASELINES.personal, global: table({}) }
  const policy = withOverride({ bypassGlobal: true }, { baselines })
  expect(policy.trace('read', payerOf('alice')).noGlobal).toBe('no limit')
  expect(policy.limitsOf('read').global).toBeNull()
  expect(policy.limitsFor('read', payerOf('alice'))).toBe(policy.limitsOf('read'))
})

it('the way of a limit always ends at the limit in force', () => {
  const modes = fc.constantFrom<Mode>('conservative', 'normal', 'loose', 'adaptive', 'custom')
  const limit = fc.integer({ min: 0, max: 10_000 })
  fc.assert(
    fc.property(modes, limit, fc.option(limit), fc.boolean(), fc.boolean(), (mode, base, own, bypass, enabled) => {
      const limits = table(own === null ? {} : { read: { '1d': own } })
      const baselines = { personal: table({ read: { '1h': base, '1d': 9 } }), global: BASELINES.global }
      const policy = withOverride(
        { limits, bypassGlobal: bypass },
        { mode, baselines, global: { enabled, multiplier: 3 } },
      )
      const { personal, global, noGlobal } = policy.trace('read', payerOf('alice'))
      const inForce = policy.limitsFor('read', payerOf('alice'))
      expect([numbers(personal), numbers(global)]).toEqual([numbers(inForce.personal), numbers(inForce.global)])
      expect(noGlobal === null).toBe(global !== null)
    }),
  )
}, 60_000)

it('the adaptive share counts in mode adaptive only', () => {
  const modes: Mode[] = ['conservative', 'normal', 'loose', 'custom', 'adaptive']
  expect(modes.map((mode) => modeFactor(mode, 1.25))).toEqual([0.75, 1, 1.5, 1, 1.25])
})

describe('an organisation that no plan limits', () => {
  const acme = { ...payerOf('alice'), organisation: 'acme' }
  const books: QuotaSettings['books'] = { window: bookWindow('UTC'), isKept: () => true }

  it('an organisation that no plan limits has its days counted, as those whom a plan limits have', () => {
    const { organisation, books: days } = createPolicy(settings({ books }), 1, new Map()).limitsFor('read', acme)
    expect([organisation, days]).toEqual([[], bookWindow('UTC')])
  })

  it('an organisation that no plan limits costs nothing where no days are kept', () => {
    expect(createPolicy(settings(), 1, new Map()).limitsFor('read', acme).organisation).toBe(null)
  })
})

describe('a soft limit', () => {
  const over = { personal: table({ read: { '1h': 20 } }), global: table({ read: { '1d': 1 } }) }
  const soft = (change: Partial<QuotaSettings> = {}) => settings({ baselines: { ...BASELINES, over }, ...change })
  const of = (policy: Policy, user = 'alice') =>
    policy.limitsFor('read', payerOf(user)).personal.map(({ limit, over }) => [limit, over])

  it('a soft limit passes what is over beside the limit, and mode, multiplier and the factor of an override multiply both', () => {
    expect(of(createPolicy(soft()))).toEqual([
      [140, 20],
      [1200, undefined],
    ])
    expect(of(createPolicy(soft({ mode: 'loose' })))[0]).toEqual([210, 30])
    const global = createPolicy(soft({ global: { enabled: true, multiplier: 0.5 } })).limitsOf('read').global
    expect(global?.[1]).toMatchObject({ limit: 60_001, over: 1 })
    expect(of(withOverride({ factor: 0.5 }, soft()))[0]).toEqual([70, 10])
    expect(of(withOverride({ factor: 0 }, soft()))[0]).toEqual([0, undefined])
  })

  it('a limit that an override sets is as soft as the override says, and what passes beyond a limit of 0 is nothing', () => {
    const limits = table({ read: { '1h': 50 } })
    expect(of(withOverride({ limits }, soft()))[0]).toEqual([50, undefined])
    expect(of(withOverride({ limits, over: table({ read: { '1h': 5 } }) }, soft()))[0]).toEqual([55, 5])
    const personal = table({ read: { '1h': 0, '1d': 5 }, write: {} })
    expect(of(createPolicy(soft({ baselines: { ...BASELINES, personal, over } })))[0]).toEqual([0, undefined])
  })

  it('what is over is traced with its limit, and the reserve keeps a part of the limit alone', () => {
    const [first] = createPolicy(soft()).trace('read', payerOf('alice'), () => 'x.yaml:3').personal
    expect(first?.steps).toEqual(['baseline 120 and 20 over (x.yaml:3)'])
    const reserve = { share: 0.5, knownAfterMs: 1, rememberMs: 2 }
    const [, day] = createPolicy(soft({ reserve })).limitsOfNewcomers('read').global ?? []
    expect(day).toMatchObject({ limit: 60_001, over: 1, kept: 60_000 })
  })

  it('a window that a plan or an override calls unlimited has no limit, though the baselines have one', () => {
    const none = Number.POSITIVE_INFINITY
    const personal = table({ read: { '1h': none } })
    const plans = new Map([['free', { personal, organisation: table({}) }]])
    const policy = createPolicy(settings({ plans, defaultPlan: 'free' }))
    expect(policy.limitsFor('read', payerOf('bob')).personal).toEqual([{ window: WINDOWS[1], limit: 1200 }])
    const override = withOverride({ limits: table({ read: { '1h': none, '1d': none } }), factor: 2 })
    expect(override.limitsFor('read', payerOf('alice')).personal).toEqual([])
    expect(override.trace('read', payerOf('alice')).personal).toEqual([])
  })
})
