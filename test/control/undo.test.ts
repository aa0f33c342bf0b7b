import { expect, test } from 'vitest'
import type { AuditEntry, Change } from '../../src/control/control-store.ts'
import { leavesOf, treeOf } from '../../src/control/leaves.ts'
import { type Changes, type ControlState, UNCHANGED, type UserOverride } from '../../src/control/state.ts'
import { undoOf } from '../../src/control/undo.ts'

const NOW = Date.UTC(2026, 10, 27)

const entry = (what: Change['kind'], from: unknown, to: unknown, subject: string | null = null): AuditEntry => ({
  version: 7,
  at: NOW - 1000,
  who: 'ann',
  what,
  subject,
  from,
  to,
  why: null,
})

const settings = (value: Changes): ControlState => ({ ...UNCHANGED, settings: { version: 9, value } })
const undoSettings = (from: Changes | null, to: Changes, now: Changes) =>
  undoOf(entry('settings', from, to), settings(now), NOW)

const override = (limit: number, expiresAt: number | null = null): UserOverride => ({
  limits: { read: { '1h': limit } },
  bypassGlobal: false,
  shadow: false,
  reason: 'why',
  expiresAt,
})
const undoOverride = (from: UserOverride | null, to: UserOverride | null, now: UserOverride | null) => {
  const overrides = new Map(now === null ? [] : [['bob', { version: 3, value: now }]])
  return undoOf(entry('override', from, to, 'bob'), { ...UNCHANGED, overrides }, NOW)
}

test('the undo of a change of settings puts back the values that it set, and leaves those that others have set since', () => {
  const from: Changes = { mode: 'loose', baselines: { personal: { read: { '1h': 10 } } } }
  const to: Changes = { shadow: true, baselines: { personal: { read: { '1h': 5, '1d': 50 } } } }
  const now: Changes = { ...to, global: { multiplier: 2 } }
  expect(undoSettings(from, to, now)).toEqual({
    kind: 'possible',
    change: { kind: 'settings', to: { ...from, global: { multiplier: 2 } } },
  })
})

test('the undo of a change of settings of the end of a temporary change is impossible, and says what to undo instead: the value never comes back without its end', () => {
  const layer = {
    id: 'a',
    from: NOW - 9000,
    until: NOW - 1000,
    value: { mode: 'loose' },
    begun: true,
    who: 'ann',
    why: null,
  }
  const from = { shadow: true, layers: [layer] }
  const ended: AuditEntry = { ...entry('settings', from, { shadow: true }), who: 'schedule' }
  expect(undoOf(ended, settings({ shadow: true }), NOW)).toEqual({
    kind: 'impossible',
    why: expect.stringContaining('it only says what became of an earlier change: undo that one'),
  })
})

test('the undo of a change of settings of the first change gives all back to the file', () => {
  expect(undoSettings(null, { mode: 'loose' }, { mode: 'loose' })).toEqual({
    kind: 'possible',
    change: { kind: 'settings', to: {} },
  })
})

test('the undo of a change of settings is refused with both values if one of them was changed since', () => {
  const to: Changes = { mode: 'loose', baselines: { personal: { read: { '1h': 5 } } } }
  const now: Changes = { mode: 'loose', baselines: { personal: { read: { '1h': 6 } } } }
  expect(undoSettings({}, to, now)).toEqual({
    kind: 'changed_since',
    values: [{ path: 'baselines.personal.read.1h', set: 5, now: 6 }],
  })
  expect(undoSettings({ mode: 'conservative' }, { mode: 'loose' }, {})).toEqual({
    kind: 'changed_since',
    values: [{ path: 'mode', set: 'loose', now: null }],
  })
})

test('the undo of a change of settings needs nothing if all is as before already', () => {
  expect(undoSettings({ mode: 'loose' }, { shadow: true }, { mode: 'loose' })).toEqual({
    kind: 'possible',
    change: null,
  })
})

test('the undo of a change of settings takes names of members for what they are', () => {
  const text = '{ "baselines": { "personal": { "__proto__": { "constructor": 5 } } } }'
  const to = JSON.parse(text) as Changes
  expect(leavesOf({ ...to })).toEqual([[['baselines', 'personal', '__proto__', 'constructor'], 5]])
  expect(JSON.stringify(treeOf(leavesOf({ ...to })))).toBe(text.replaceAll(' ', ''))
  expect(undoSettings({}, to, {})).toMatchObject({ kind: 'possible', change: null })
  expect(JSON.stringify(undoSettings(to, {}, {}))).toContain(text.replaceAll(' ', ''))
})

test('the undo of an override puts back the one before, or takes the only one away', () => {
  const undone = (to: UserOverride | null) => ({ kind: 'possible', change: { kind: 'override', user: 'bob', to } })
  expect(undoOverride(override(5), override(6), override(6))).toEqual(undone(override(5)))
  expect(undoOverride(null, override(6), override(6))).toEqual(undone(null))
  expect(undoOverride(override(5), null, null)).toEqual(undone(override(5)))
})

test('the undo of an override is refused with both values if it was changed since', () => {
  const values = [{ path: '', set: override(6), now: override(7) }]
  expect(undoOverride(override(5), override(6), override(7))).toEqual({ kind: 'changed_since', values })
  expect(undoOverride(null, override(6), override(7))).toEqual({ kind: 'changed_since', values })
  expect(undoOverride(override(5), null, override(7))).toMatchObject({ kind: 'changed_since' })
})

test('the undo of an override takes one that has ended for none', () => {
  const ended = override(5, NOW - 1)
  expect(undoOverride(ended, override(6), override(6))).toEqual({
    kind: 'possible',
    change: { kind: 'override', user: 'bob', to: null },
  })
  expect(undoOverride(override(4), ended, null)).toEqual({
    kind: 'possible',
    change: { kind: 'override', user: 'bob', to: override(4) },
  })
  expect(undoOverride(ended, null, null)).toEqual({ kind: 'possible', change: null })
})

test('the undo of an override is refused if a temporary one from before it was put back since, which would hide what is put back', () => {
  // The temporary one was taken away, 30 was set for ever and undone, and then the temporary one was put back.
  const put = (from: number) => {
    const value = override(10)
    const layer = { id: 'l1', from, until: NOW + 1000, begun: true, value, who: 'ann', why: null }
    return { layers: [layer] } as unknown as UserOverride
  }
  expect(undoOverride(override(30), null, put(NOW - 3000))).toEqual({
    kind: 'changed_since',
    values: [{ path: '', set: null, now: override(10) }],
  })
  expect(undoOverride(override(30), null, put(NOW - 500))).toMatchObject({ kind: 'possible' })
})

test('the undo of an override of an organisation puts back the one before', () => {
  const of = (limit: number) => ({ limits: { read: { '1h': limit } }, reason: 'why', expiresAt: null })
  const state = { ...UNCHANGED, organisationOverrides: new Map([['acme', { version: 3, value: of(6) }]]) }
  expect(undoOf(entry('organisation_override', of(5), of(6), 'acme'), state, NOW)).toEqual({
    kind: 'possible',
    change: { kind: 'organisation_override', organisation: 'acme', to: of(5) },
  })
  expect(undoOf(entry('organisation_override', of(5), of(7), 'acme'), state, NOW)).toMatchObject({
    kind: 'changed_since',
  })
})

test('what cannot be undone says why', () => {
  for (const what of ['reset', 'quota_reset', 'token_created', 'token_revoked'] as const) {
    expect(undoOf(entry(what, null, null, 'x'), UNCHANGED, NOW)).toMatchObject({
      kind: 'impossible',
      why: expect.stringContaining(': '),
    })
  }
  expect(undoOf(entry('from_a_newer_build' as 'reset', null, null), UNCHANGED, NOW)).toMatchObject({
    kind: 'impossible',
    why: expect.stringContaining('does not know'),
  })
})
