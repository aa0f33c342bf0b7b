import { expect, it } from 'vitest'
import { createLimitsInForce, restingChanges } from '../../src/app/limits-in-force.ts'
import { type ControlState, UNCHANGED, type UserOverride } from '../../src/control/state.ts'
import { payerOf } from '../../src/quota/policy.ts'
import { understood } from '../e2e/harness.ts'

const LIMITS = 'baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 100 } } }'
const quota = (more = '') =>
  understood(`upstream: { url: "http://127.0.0.1:9000" }\nquota: { ${LIMITS}, ${more} }`).config.quota

const OVERRIDE: UserOverride = { limits: {}, bypassGlobal: false, shadow: false, reason: 'why', expiresAt: null }

function state(
  settings: ControlState['settings']['value'],
  overrides: Record<string, Partial<UserOverride>> = {},
): ControlState {
  const entries = Object.entries(overrides).map(([user, value], i) => {
    return [user, { version: i + 2, value: { ...OVERRIDE, ...value } }] as const
  })
  return {
    version: 9,
    changedAt: 0,
    settings: { version: 1, value: settings },
    overrides: new Map(entries),
    organisationOverrides: new Map(),
    grants: new Map(),
  }
}

const numbers = ({ policy }: ReturnType<typeof createLimitsInForce>, user = 'nobody') => {
  const { personal, global } = policy().limitsFor('read', payerOf(user))
  return [personal[0]?.limit, global?.[0]?.limit ?? null]
}

it('limits in force begin with the file alone', () => {
  const limits = createLimitsInForce(quota('mode: loose, shadow: true'))
  expect(numbers(limits)).toEqual([15, 150])
  expect(limits.shadow()).toBe(true)
  expect(numbers(createLimitsInForce(quota('mode: adaptive')))).toEqual([10, 100])
})

it('limits in force put changes at run time over the file, and give back the values of the file', () => {
  const limits = createLimitsInForce(quota('mode: loose'))
  limits.enforce(state({ mode: 'conservative', shadow: true }, { alice: { limits: { read: { '1h': 3 } } } }), 1)
  expect([numbers(limits), numbers(limits, 'alice')]).toEqual([
    [7, 75],
    [3, 75],
  ])
  expect(limits.shadow()).toBe(true)
  limits.enforce(UNCHANGED, 1)
  expect([numbers(limits), numbers(limits, 'alice')]).toEqual([
    [15, 150],
    [15, 150],
  ])
  expect(limits.shadow()).toBe(false)
})

it('limits in force follow other changes of the same number, as a store that has lost some gives it again', () => {
  const limits = createLimitsInForce(quota())
  limits.enforce(state({ mode: 'loose' }, { alice: { limits: { read: { '1h': 3 } } } }), 1)
  limits.enforce(state({ mode: 'conservative' }, { alice: { limits: { read: { '1h': 4 } } } }), 1)
  expect([numbers(limits), numbers(limits, 'alice')]).toEqual([
    [7, 75],
    [4, 75],
  ])
})

it('limits in force take the adaptive factor in mode adaptive only, also if that came at run time, and never for overrides', () => {
  const limits = createLimitsInForce(quota())
  const adaptive = state({ mode: 'adaptive' }, { alice: { limits: { read: { '1h': 3 } } } })
  limits.enforce(UNCHANGED, 0.8)
  expect(numbers(limits)).toEqual([10, 100])
  limits.enforce(adaptive, 0.8)
  expect([numbers(limits), numbers(limits, 'alice')]).toEqual([
    [8, 80],
    [3, 80],
  ])
  limits.enforce(adaptive, 1.2)
  expect([numbers(limits), numbers(limits, 'alice')]).toEqual([
    [12, 120],
    [3, 120],
  ])
  limits.enforce(adaptive, 1)
  expect(numbers(limits)).toEqual([10, 100])
})

it('limits in force stay the same objects until a change, since refusals are remembered by them', () => {
  const limits = createLimitsInForce(quota())
  const first = state({})
  limits.enforce(first, 1)
  const before = limits.policy()
  limits.enforce(first, 0.9)
  expect(limits.policy()).toBe(before)
  limits.enforce({ ...first, version: 10 }, 0.9)
  expect(limits.policy()).not.toBe(before)
})

it('limits in force let an override go that has ended, which is no change of its own', () => {
  const limits = createLimitsInForce(quota())
  const changed = state({}, { alice: { limits: { read: { '1h': 3 } } } })
  limits.enforce(changed, 1)
  expect(numbers(limits, 'alice')).toEqual([3, 100])
  limits.enforce({ ...changed, overrides: new Map() }, 1)
  expect(numbers(limits, 'alice')).toEqual([10, 100])
})

it('limits in force follow the override of an organisation, also without plans and when it has ended', () => {
  const limits = createLimitsInForce(quota())
  const before = state({})
  const value = { limits: { read: { '1h': 7 } }, reason: 'why', expiresAt: null }
  const ofAcme = () =>
    limits.policy().limitsFor('read', { user: 'nobody', organisation: 'acme', plan: null }).organisation?.[0]?.limit
  limits.enforce({ ...before, organisationOverrides: new Map([['acme', { version: 2, value }]]) }, 1)
  expect(ofAcme()).toBe(7)
  limits.enforce(before, 1)
  expect(ofAcme()).toBeUndefined()
})

it('limits in force name what was changed for a category or window that the file does not have, and nothing else', () => {
  const changed = state(
    { baselines: { personal: { gone: { '1h': 1 }, read: { '1h': 1 } } }, custom: { global: { read: { '2h': 1 } } } },
    { alice: { limits: { gone: { '1h': 3 } } }, bob: { limits: { gone: { '1h': 4 }, read: { '1h': 4 } } } },
  )
  const value = { limits: { read: { '2h': 1 } }, reason: 'why', expiresAt: null }
  const organisationOverrides = new Map([['acme', { version: 2, value }]])
  expect(restingChanges(quota(), { ...UNCHANGED, organisationOverrides })).toEqual([
    'quota: overrides of organisations changed at run time for window "2h" rest: add it, or give those values back to the file',
  ])
  expect(restingChanges(quota(), changed)).toEqual([
    'quota: settings changed at run time for category "gone" rest: add it, or give those values back to the file',
    'quota: settings changed at run time for window "2h" rest: add it, or give those values back to the file',
    'quota: overrides of users changed at run time for category "gone" rest: add it, or give those values back to the file',
  ])
  const limits = createLimitsInForce(quota())
  limits.enforce(changed, 1)
  expect([numbers(limits, 'alice'), numbers(limits, 'bob')]).toEqual([
    [1, 100],
    [4, 100],
  ])
  expect(restingChanges(quota(), UNCHANGED)).toEqual([])
})

it.each(['baselines', 'custom'])('limits in force name such changes in both scopes of the %s', (layer) => {
  for (const scope of ['personal', 'global'])
    expect(restingChanges(quota(), state({ [layer]: { [scope]: { gone: { '1h': 1 } } } }))).toHaveLength(1)
})
