import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPolicy, type LimitTable, type Mode, modeFactor, type QuotaSettings } from '../../src/quota/policy.ts'

const WINDOWS = [
  { name: '1h', seconds: 3600 },
  { name: '1d', seconds: 86_400 },
]
const table = (rows: Record<string, Record<string, number>>): LimitTable =>
  new Map(Object.entries(rows).map(([category, row]) => [category, new Map(Object.entries(row))]))

const BASELINES = {
  personal: table({ read: { '1h': 120, '1d': 1200 }, write: { '1h': 60, '1d': 600 } }),
  global: table({ read: { '1h': 12_000, '1d': 120_000 }, write: { '1h': 6000, '1d': 60_000 } }),
}
const CUSTOM = {
  personal: table({ read: { '1h': 7, '1d': 8 }, write: { '1h': 9, '1d': 10 } }),
  global: table({ read: { '1h': 70, '1d': 80 }, write: { '1h': 90, '1d': 100 } }),
}
const settings = (change: Partial<QuotaSettings> = {}): QuotaSettings => ({
  mode: 'normal',
  windows: WINDOWS,
  baselines: BASELINES,
  custom: null,
  global: { enabled: true, multiplier: 1 },
  ...change,
})
const numbers = (limits: readonly { limit: number }[] | null): number[] | null =>
  limits?.map(({ limit }) => limit) ?? null
const NO_OVERRIDE = { limits: table({}), bypassGlobal: false }

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
  it('are the baselines in mode normal, window by window in the order of the settings', () => {
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

  it('in another mode ignore the explicit values', () => {
    expect(numbers(createPolicy(settings({ custom: CUSTOM })).limitsOf('write').personal)).toEqual([60, 600])
  })

  it('multiply the global scope only', () => {
    const { personal, global } = createPolicy(settings({ global: { enabled: true, multiplier: 0.25 } })).limitsOf(
      'read',
    )
    expect([numbers(personal), numbers(global)]).toEqual([
      [120, 1200],
      [3000, 30_000],
    ])
  })

  it('have no global scope when it is switched off', () => {
    expect(createPolicy(settings({ global: { enabled: false, multiplier: 1 } })).limitsOf('read').global).toBeNull()
  })

  it('are the same objects for every request, so that a batch can send each set once', () => {
    const policy = createPolicy(settings())
    expect(policy.limitsOf('read')).toBe(policy.limitsOf('read'))
  })

  it('are not to be had for a category that the settings do not name', () => {
    const policy = createPolicy(settings())
    expect(policy.categories).toEqual(['read', 'write'])
    for (const category of ['admin', 'constructor', '__proto__', ''])
      expect(() => policy.limitsOf(category)).toThrow(category)
  })

  it('need a baseline for each category and window', () => {
    const personal = table({ read: { '1h': 1 } })
    expect(() => createPolicy(settings({ baselines: { ...BASELINES, personal } }))).toThrow(
      'no limit for read in window 1d',
    )
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
    [999_999_999_999, 1.4999, 1_499_899_999_998],
  ])('%d x %d is %d', (baseline, factor, limit) => {
    expect(oneLimit(baseline, 'adaptive', factor, 1).personal).toBe(limit)
  })

  it('goes down after the last multiplication, not between', () => {
    expect(oneLimit(5, 'conservative', 1, 4)).toEqual({ personal: 3, global: 15 })
  })

  it('agrees with exact fractions for any baseline, factor and multiplier', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10 ** 12 }),
        decimal(0.75, 1.5, 6),
        decimal(0.25, 4, 6),
        (baseline, factor, multiplier) => {
          expect(oneLimit(baseline, 'adaptive', Number(factor), Number(multiplier))).toEqual({
            personal: exactly(baseline, factor),
            global: exactly(baseline, factor, multiplier),
          })
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('agrees with exact fractions for small baselines, where a slip shows most', () => {
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
  })
})

describe('an override', () => {
  const policy = createPolicy(settings({ mode: 'conservative' }))

  it('replaces the personal limits it names as they stand, and the others follow the default', () => {
    const limits = policy.limitsFor('read', { limits: table({ read: { '1h': 5000 } }), bypassGlobal: false })
    expect(limits.personal).toEqual([
      { window: WINDOWS[0], limit: 5000 },
      { window: WINDOWS[1], limit: 900 },
    ])
    expect(limits.global).toEqual(policy.limitsOf('read').global)
  })

  it('of zero shuts a user out', () => {
    expect(
      numbers(policy.limitsFor('read', { limits: table({ read: { '1h': 0 } }), bypassGlobal: false }).personal),
    ).toEqual([0, 900])
  })

  it('of another category changes nothing', () => {
    const limits = policy.limitsFor('read', { limits: table({ write: { '1h': 5 } }), bypassGlobal: false })
    expect(limits).toEqual(policy.limitsOf('read'))
  })

  it('may take the user out of the global scope, never out of the personal one', () => {
    const limits = policy.limitsFor('read', { limits: table({}), bypassGlobal: true })
    expect(limits).toEqual({ personal: policy.limitsOf('read').personal, global: null })
  })

  it('brings no global scope back that is switched off', () => {
    const off = createPolicy(settings({ global: { enabled: false, multiplier: 1 } }))
    expect(off.limitsFor('read', NO_OVERRIDE).global).toBeNull()
  })
})

it('the adaptive share counts in mode adaptive only', () => {
  const modes: Mode[] = ['conservative', 'normal', 'loose', 'custom', 'adaptive']
  expect(modes.map((mode) => modeFactor(mode, 1.25))).toEqual([0.75, 1, 1.5, 1, 1.25])
})
