import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  applyPatch,
  type FileSettings,
  originOf,
  problemsOf,
  type QuotaPatchLike,
  resolve,
} from '../../src/control/settings.ts'
import type { Changes } from '../../src/control/state.ts'
import { isSoft, valueIn } from '../../src/quota/limit-value.ts'
import { createPolicy, type ScopedLimits } from '../../src/quota/policy.ts'
import { limitsInForce } from '../../src/quota/status.ts'
import { table } from '../quota/settings.ts'
import { FILE } from './settings-of-a-file.ts'

const SCOPES = ['personal', 'global'] as const
const CATEGORIES = ['read', 'write']
const WINDOWS = ['1h', '1d']
const PLANS = ['free', 'pro v1.5']

/** With a plan that limits an hour of reads, and one that limits nothing. */
const PLANNED: FileSettings = {
  ...FILE,
  plans: new Map([
    ['free', { personal: table({ read: { '1h': 40, '1d': Number.POSITIVE_INFINITY } }), organisation: table({}) }],
    ['pro v1.5', { personal: table({}), organisation: table({ write: { '1h': 9 } }) }],
  ]),
}

/** A record with any of the keys, and perhaps `null` instead of some values or of all. */
const some = <T>(keys: readonly string[], value: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
  fc.record(Object.fromEntries(keys.map((key) => [key, value])), { requiredKeys: [] }) as fc.Arbitrary<
    Record<string, T>
  >
const nullable = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 8 })
const soft = fc.record({ limit: fc.integer({ min: 1, max: 10 ** 6 }), over: fc.nat(10 ** 6) })
const limit = fc.oneof({ weight: 3, arbitrary: fc.nat(10 ** 6) }, soft)
const limits = nullable(some(SCOPES, nullable(some(CATEGORIES, nullable(some(WINDOWS, nullable(limit)))))))
const planLimits = nullable(some(WINDOWS, nullable(fc.oneof(limit, fc.constant('unlimited' as const)))))
const planPatches = nullable(
  some(PLANS, nullable(some(['personal', 'organisation'], nullable(some(CATEGORIES, planLimits))))),
)
const modes = fc.constantFrom('conservative', 'normal', 'loose', 'adaptive', 'custom')

/** Any patch without problems. */
const patches = fc.record(
  {
    mode: nullable(modes),
    global: nullable(
      fc.record(
        { enabled: nullable(fc.boolean()), multiplier: nullable(fc.double({ min: 0.25, max: 4, noNaN: true })) },
        { requiredKeys: [] },
      ),
    ),
    baselines: limits,
    custom: limits,
    plans: planPatches,
    shadow: nullable(fc.boolean()),
    reason: fc.constant('because'),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<QuotaPatchLike>

const changesOf = (...all: QuotaPatchLike[]): Changes =>
  all.reduce<Changes>((changes, patch) => applyPatch(changes, patch), {})

/** The names that lead to a value; a plan may have a dot in its name. */
type Names = readonly string[]

/** The value of resolved settings or of the file; `undefined` if there is none. */
function valueAt(
  names: Names,
  { settings, shadow }: { settings: Omit<FileSettings, 'shadow'>; shadow: boolean },
): unknown {
  const [first, second = ''] = names
  const [scope = '', category = '', window = ''] = names.slice(-3)
  if (first === 'mode') return settings.mode
  if (first === 'shadow') return shadow
  if (first === 'global') return settings.global[second as 'enabled' | 'multiplier']
  const layer = first === 'plans' ? settings.plans?.get(second) : settings[first as 'baselines' | 'custom']
  if (layer == null) return undefined
  const tables = layer as unknown as Record<string, ScopedLimits['personal']>
  const over = layer.over as Record<string, ScopedLimits['personal']> | undefined
  const limits = tables[scope]
  return limits === undefined ? undefined : valueIn({ limits, over: over?.[scope] }, category, window)
}

const cells = (above: Names, scopes: readonly string[]): Names[] =>
  scopes.flatMap((scope) =>
    CATEGORIES.flatMap((category) => WINDOWS.map((window) => [...above, scope, category, window])),
  )
const PLACES: Names[] = [
  ['mode'],
  ['global', 'enabled'],
  ['global', 'multiplier'],
  ...['baselines', 'custom'].flatMap((layer) => cells([layer], SCOPES)),
  ...PLANS.flatMap((plan) => cells(['plans', plan], ['personal', 'organisation'])),
  ['shadow'],
]

/** The value of stored changes. */
function setAt(names: Names, changes: Changes): unknown {
  return names.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], changes)
}

it('the settings in force are those of the file if nothing was changed', () => {
  const { shadow, ...settings } = FILE
  expect(resolve(FILE, {})).toEqual({ settings, shadow, changed: [] })
})

it('the settings in force have each changed value over the file, and the rest of the file beside it', () => {
  const { settings, shadow, changed } = resolve(
    { ...FILE, shadow: true, global: { enabled: false, multiplier: 3 } },
    {
      mode: 'loose',
      global: { enabled: true },
      baselines: { personal: { read: { '1h': 7 } } },
      shadow: false,
    },
  )
  expect([settings.mode, settings.global, shadow]).toEqual(['loose', { enabled: true, multiplier: 3 }, false])
  expect(settings.baselines).toEqual({
    personal: table({ read: { '1h': 7, '1d': 1200 }, write: { '1h': 60, '1d': 600 } }),
    global: FILE.baselines.global,
  })
  expect(changed).toEqual(['mode', 'global.enabled', 'baselines.personal.read.1h', 'shadow'])
})

it('the settings in force name a value as changed that was set to what the file says: it stays when the file changes', () => {
  expect(resolve(FILE, { mode: 'normal' }).changed).toEqual(['mode'])
})

it('the settings in force take a limit that was set as a whole: what passes beyond that of the file goes, and one may be soft or none', () => {
  const over = { personal: table({ read: { '1h': 20 }, write: { '1h': 6 } }), global: table({}) }
  const file = { ...FILE, baselines: { ...FILE.baselines, over } }
  const read = { '1h': 100, '1d': { limit: 1000, over: 200 } }
  const changes = { baselines: { personal: { read }, global: { read: { '1h': 'unlimited' as const } } } }
  const { settings, changed } = resolve(file, changes)
  expect(settings.baselines.over).toEqual({
    personal: table({ read: { '1d': 200 }, write: { '1h': 6 } }),
    global: table({}),
  })
  expect(limitsInForce(createPolicy(settings))).toEqual({
    personal: { read: { '1h': 100, '1d': 1000 }, write: { '1h': 60, '1d': 600 } },
    global: { read: { '1d': 120_000 }, write: { '1h': 6000, '1d': 60_000 } },
  })
  expect(changed).toHaveLength(3)
})

it('the settings in force have the custom values of the file with those set at run time over them', () => {
  const custom = { personal: table({ read: { '1h': 5, '1d': 6 } }), global: table({}) }
  const changes = { custom: { personal: { read: { '1d': 60 } }, global: { write: { '1h': 9 } } } }
  expect(resolve({ ...FILE, custom }, changes).settings.custom).toEqual({
    personal: table({ read: { '1h': 5, '1d': 60 } }),
    global: table({ write: { '1h': 9 } }),
  })
})

it('the settings in force let a change rest while the file has no such category or window', () => {
  const changes: Changes = {
    baselines: { personal: { admin: { '1h': 1 }, read: { '5h': 2, '1h': 3 } } },
    custom: { global: { constructor: { '1h': 4 } } },
  }
  const { settings, changed } = resolve(FILE, changes)
  expect(changed).toEqual(['baselines.personal.read.1h'])
  expect([...settings.baselines.personal.keys()]).toEqual(['read', 'write'])
  expect(settings.custom).toBeNull()
})

it('the settings in force are not misled by categories that are called like what every object has', () => {
  const of = table({ constructor: { '1h': 1, '1d': 2 }, ['__proto__']: { '1h': 3, '1d': 4 } })
  const file = { ...FILE, baselines: { personal: of, global: of } }
  expect(resolve(file, { baselines: { personal: {} } })).toMatchObject({
    changed: [],
    settings: { baselines: file.baselines },
  })
  const patch = JSON.parse('{"baselines":{"personal":{"__proto__":{"1h":9},"constructor":{"1d":8}}}}')
  expect(problemsOf(patch, file)).toEqual([])
  const { settings, changed } = resolve(file, changesOf(patch))
  expect(settings.baselines.personal).toEqual(
    table({ constructor: { '1h': 1, '1d': 8 }, ['__proto__']: { '1h': 9, '1d': 4 } }),
  )
  expect(changed).toEqual(['baselines.personal.constructor.1d', 'baselines.personal.__proto__.1h'])
})

it('the settings in force that rest without their category or window can be given back, and nothing else', () => {
  const changes = { baselines: { personal: { gone: { '1h': 3 }, read: { '9h': 4 } } } }
  const back = [{ gone: null }, { gone: { '1h': null } }, { read: { '9h': null } }]
  for (const personal of back) expect(problemsOf({ baselines: { personal } }, FILE, changes)).toEqual([])
  const wrong: [object, string][] = [
    [{ baselines: { personal: { gone: { '1h': 5 } } } }, 'baselines.personal.gone.1h'],
    [{ baselines: { personal: { read: { '9h': 5 } } } }, 'baselines.personal.read.9h'],
    [{ baselines: { personal: { gone: { '9h': null } } } }, 'baselines.personal.gone.9h'],
    [{ baselines: { global: { gone: null } } }, 'baselines.global.gone'],
    [{ custom: { personal: { gone: null } } }, 'custom.personal.gone'],
  ]
  for (const [patch, path] of wrong) expect(problemsOf(patch, FILE, changes)).toMatchObject([{ path }])
  expect(applyPatch(changes, { baselines: { personal: { gone: null, read: { '9h': null } } } })).toEqual({})
})

it('the settings in force are not misled by windows that are called like what every function or object has', () => {
  const of = table({ constructor: { length: 7 } })
  const file = { ...FILE, windows: [{ name: 'length', seconds: 60 }], baselines: { personal: of, global: of } }
  const { settings, changed } = resolve(file, { baselines: { personal: {} } })
  expect([settings.baselines.personal, changed]).toEqual([of, []])
  const windows = [...FILE.windows, { name: 'valueOf', seconds: 60 }]
  expect(resolve({ ...FILE, windows }, { baselines: { personal: { read: { '1h': 1 } } } }).changed).toEqual([
    'baselines.personal.read.1h',
  ])
})

it('the settings in force can be had for every valid patch, and make a policy', () => {
  fc.assert(
    fc.property(fc.array(patches, { maxLength: 4 }), (all) => {
      for (const patch of all) expect(problemsOf(patch, PLANNED)).toEqual([])
      const { settings } = resolve(PLANNED, changesOf(...all))
      const { personal } = limitsInForce(createPolicy(settings, 1.1))
      expect(Object.values(personal).map((row) => Object.keys(row))).toEqual([WINDOWS, WINDOWS])
    }),
  )
}, 60_000)

it('the settings in force differ from the file exactly where they say so', () => {
  fc.assert(
    fc.property(fc.array(patches, { maxLength: 4 }), (all) => {
      const changes = changesOf(...all)
      const resolved = resolve(PLANNED, changes)
      const set = PLACES.filter((names) => setAt(names, changes) !== undefined).map((names) => names.join('.'))
      // Plans in the order in which they were set first.
      expect([...resolved.changed].sort()).toEqual(set.sort())
      for (const names of PLACES) {
        const expected = setAt(names, changes) ?? valueAt(names, { settings: PLANNED, shadow: PLANNED.shadow })
        expect(valueAt(names, resolved), names.join('.')).toEqual(
          isSoft(expected) && expected.over === 0 ? expected.limit : expected,
        )
      }
    }),
  )
}, 60_000)

it('a patch is merged into what was changed before', () => {
  const before = changesOf({ mode: 'loose', baselines: { personal: { read: { '1h': 7, '1d': 8 } } } })
  expect(applyPatch(before, { global: { multiplier: 2 }, baselines: { personal: { read: { '1d': 9 } } } })).toEqual({
    mode: 'loose',
    global: { multiplier: 2 },
    baselines: { personal: { read: { '1h': 7, '1d': 9 } } },
  })
})

it('a patch gives a value back with null, and leaves no empty object behind', () => {
  const before = changesOf({ mode: 'loose', baselines: { personal: { read: { '1h': 7 } } } })
  expect(applyPatch(before, { baselines: { personal: { read: { '1h': null } } } })).toEqual({ mode: 'loose' })
  expect(applyPatch(before, { baselines: null })).toEqual({ mode: 'loose' })
  expect(applyPatch({}, { baselines: { personal: { read: {} } }, global: {} })).toEqual({})
})

it('a patch keeps its reason out of the settings', () => {
  expect(applyPatch({}, { mode: 'loose', reason: 'a sale' })).toEqual({ mode: 'loose' })
})

it('a patch changes nothing in what it is applied to', () => {
  const before = changesOf({ baselines: { personal: { read: { '1h': 7 } } } })
  const text = JSON.stringify(before)
  applyPatch(before, { baselines: { personal: { read: { '1h': 8, '1d': 9 } } }, mode: 'loose' })
  expect(JSON.stringify(before)).toBe(text)
})

it('a patch followed by one with null everywhere gives the file back', () => {
  const nulls = { mode: null, global: null, baselines: null, custom: null, plans: null, shadow: null }
  fc.assert(
    fc.property(fc.array(patches, { maxLength: 4 }), (all) => {
      expect(changesOf(...all, nulls)).toEqual({})
    }),
  )
}, 60_000)

it('a patch followed by one with null for each of its values gives back what was before', () => {
  const undone = (value: unknown): unknown =>
    typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, undone(inner)]))
      : null
  fc.assert(
    fc.property(patches, ({ reason: _, ...patch }) => {
      expect(applyPatch(changesOf(patch), undone(patch) as QuotaPatchLike)).toEqual({})
    }),
  )
}, 60_000)

it('a patch comes to the same whether it is stored as JSON between two patches or not', () => {
  fc.assert(
    fc.property(patches, patches, (first, second) => {
      const stored = JSON.parse(JSON.stringify(changesOf(first)))
      expect(applyPatch(stored, second)).toEqual(changesOf(first, second))
    }),
  )
}, 60_000)

it('a limit of a plan that was set lies over that of the file, and may be hard, soft or none as one there', () => {
  const over = { personal: table({ read: { '1h': 5, '1d': 6 } }) }
  const limits = { personal: table({ read: { '1h': 40, '1d': 70 } }), organisation: table({}), over }
  const { settings } = resolve(
    { ...FILE, plans: new Map([['free', limits]]) },
    {
      plans: {
        free: {
          personal: { read: { '1h': 80 }, write: { '1h': 'unlimited' } },
          organisation: { write: { '1d': { limit: 7, over: 2 } } },
        },
      },
    },
  )
  expect(settings.plans?.get('free')).toEqual({
    personal: table({ read: { '1h': 80, '1d': 70 }, write: { '1h': Number.POSITIVE_INFINITY } }),
    organisation: table({ write: { '1d': 7 } }),
    over: { personal: table({ read: { '1d': 6 } }), organisation: table({ write: { '1d': 2 } }) },
  })
})

it('a limit of a plan that is called like what every object has is set in that plan alone', () => {
  const nothing = { personal: table({}), organisation: table({}) }
  const names = ['__proto__', 'constructor', 'free']
  const file = { ...FILE, plans: new Map(names.map((name) => [name, nothing])) }
  const patch = JSON.parse('{"plans":{"__proto__":{"personal":{"read":{"1h":5}}},"constructor":{"personal":{}}}}')
  expect(problemsOf(patch, file)).toEqual([])
  const changes = changesOf(patch)
  const { settings, changed } = resolve(file, changes)
  expect(changed).toEqual(['plans.__proto__.personal.read.1h'])
  expect(names.map((name) => settings.plans?.get(name)?.personal.get('read')?.get('1h'))).toEqual([
    5,
    undefined,
    undefined,
  ])
  expect(applyPatch(changes, JSON.parse('{"plans":{"__proto__":null}}'))).toEqual({})
  expect(({} as Record<string, unknown>).personal).toBe(undefined)
})

it('a limit of a plan rests while the file has no such plan, and can be given back', () => {
  const changes: Changes = { plans: { gone: { personal: { read: { '1h': 5 } } } } }
  expect(resolve(PLANNED, changes)).toMatchObject({ changed: [], settings: { plans: PLANNED.plans } })
  expect(problemsOf({ plans: { gone: null } }, PLANNED, changes)).toEqual([])
  expect(problemsOf({ plans: { gone: { personal: { read: { '1h': 6 } } } } }, PLANNED, changes)).toMatchObject([
    { path: 'plans.gone', msg: /^rests, since the file has no such plan/ },
  ])
})

it.each([
  [{ fre: {} }, 'plans.fre: unknown plan "fre"; did you mean "free"?: a plan begins in the file, under quota.plans'],
  [
    { free: { period_day: 20 } },
    'plans.free.period_day: unknown scope "period_day"; there are personal, organisation: the day with which months of a plan begin is set in the file, under quota.plans, and that of one user or organisation by periodDay of an override',
  ],
  [{ free: { global: {} } }, 'plans.free.global: unknown scope "global"; there are personal, organisation'],
  [{ free: { personal: { raed: {} } } }, 'plans.free.personal.raed: unknown category "raed"; did you mean "read"?'],
  [{ free: { personal: { read: { '9h': 1 } } } }, 'plans.free.personal.read.9h: unknown window "9h"; there are 1h, 1d'],
  [
    { free: { personal: { read: { '1h': 1e13 } } } },
    'plans.free.personal.read.1h: must be a whole number of tokens from 0 to 1000000000000, { "limit": 1000, "over": 200 }, or unlimited',
  ],
])('a limit of a plan with a mistake (%j) gets an error with its place and the cure', (plans, expected) => {
  expect(problemsOf({ plans }, PLANNED).map(({ path, msg }) => `${path}: ${msg}`)).toEqual([expected])
})

const told = (patch: unknown) => problemsOf(patch, FILE).map(({ path, msg }) => `${path}: ${msg}`)

it('a patch with mistakes gets an error for each, with its place and the cure', () => {
  const patch = {
    mode: 'lose',
    global: { multiplier: 5, enabled: 'yes', multiplyer: 2 },
    baselines: {
      personal: { raed: { '1h': 1 }, read: { '1hour': 1, '1h': 1.5, '1d': { limit: 5 } }, write: 5 },
      globl: {},
    },
    shadow: 1,
    reason: '',
  }
  expect(told(patch)).toEqual([
    'mode: must be one of conservative, normal, loose, adaptive, custom; did you mean "loose"?',
    'global.multiplier: must be a number from 0.25 to 4',
    'global.enabled: must be true or false',
    'global.multiplyer: unknown field "multiplyer"; did you mean "multiplier"?',
    'baselines.personal.raed: unknown category "raed"; did you mean "read"?',
    'baselines.personal.read.1hour: unknown window "1hour"; there are 1h, 1d',
    'baselines.personal.read.1h: must be a whole number of tokens from 0 to 1000000000000, { "limit": 1000, "over": 200 }, or unlimited',
    'baselines.personal.read.1d: must be a whole number of tokens from 0 to 1000000000000, { "limit": 1000, "over": 200 }, or unlimited',
    'baselines.personal.write: must be an object with 1h, 1d',
    'baselines.globl: unknown scope "globl"; did you mean "global"?',
    'shadow: must be true or false',
    'reason: must be a sentence of 1 to 500 characters on one line: why it is changed',
  ])
})

it.each([null, undefined, 5, 'mode', [], [{ mode: 'loose' }]])(
  'a patch with mistakes that is no object (%j) gets an error that says so',
  (patch) => {
    expect(told(patch)).toEqual([
      ': must be an object with mode, global, baselines, custom, plans, shadow, reason, from, until, guard',
    ])
  },
)

it.each([
  ['limit', [0, 1, 1e12], [-1, 1e12 + 1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '5', true, {}, []]],
  ['multiplier', [0.25, 1, 4], [0.2499, 4.0001, Number.NaN, '1', true, {}]],
  ['reason', ['x', 'é'.repeat(500), '😀'.repeat(500)], ['', ' ', 'x'.repeat(501), 'a\nb', '\ud800', 5, null]],
])('a patch with mistakes of a %s differs from one without', (what, good, bad) => {
  const patch = (value: unknown) =>
    what === 'limit'
      ? { custom: { global: { read: { '1h': value } } } }
      : what === 'multiplier'
        ? { global: { multiplier: value } }
        : { reason: value }
  for (const value of good) expect(problemsOf(patch(value), FILE), String(value)).toEqual([])
  for (const value of bad) expect(problemsOf(patch(value), FILE), String(value)).toHaveLength(1)
})

it('a patch with mistakes never throws, whatever it is', () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true }), (patch) => {
      for (const { path, msg } of problemsOf(patch, FILE))
        expect([typeof path, msg.length > 0]).toEqual(['string', true])
    }),
  )
}, 60_000)

const origin = originOf(
  { baselines: { personal: { read: { '1h': 7 } } } },
  (scope, category, window, layer) => `${layer} ${scope} ${category} ${window}`,
)

it('where a value comes from is the file, or a change at run time', () => {
  expect(origin('personal', 'read', '1h', 'baselines')).toBe('set at run time')
  expect(origin('personal', 'read', '1d', 'baselines')).toBe('baselines personal read 1d')
  expect(origin('global', 'read', '1h', 'baselines')).toBe('baselines global read 1h')
  expect(origin('personal', 'read', '1h', 'custom')).toBe('custom personal read 1h')
  const plan = { plan: 'free' }
  const ofPlan = originOf({ plans: { free: { organisation: { read: { '1h': 7 } } } } }, () => 'tollgate.yaml:9')
  expect(ofPlan('organisation', 'read', '1h', plan)).toBe('set at run time')
  expect(ofPlan('personal', 'read', '1h', plan)).toBe('tollgate.yaml:9')
})
