import { describe, expect, test } from 'vitest'
import type { SettingsResponse } from '../../src/contract/api.ts'
import { comesBack, type Entry, isOver, isUndoable, storyOf } from '../../src/dashboard/logic/audit-story.ts'
import { windowWords } from '../../src/dashboard/logic/format.ts'

const FILE: SettingsResponse = {
  mode: 'normal',
  global: { enabled: true, multiplier: 1 },
  baselines: { personal: { read: { '1h': 120 } }, global: { read: { '1h': 1200 } } },
  custom: null,
  shadow: false,
}

const entryOf = (part: Partial<Entry>): Entry => ({
  ...{
    version: 9,
    at: '2026-11-20T10:00:00Z',
    who: 'carol',
    what: 'settings',
    subject: null,
    from: {},
    to: {},
    why: null,
  },
  ...part,
})
const limit = (tokens: number) => ({ baselines: { personal: { read: { '1h': tokens } } } })
const story = (part: Partial<Entry>) => storyOf(entryOf(part), FILE)

describe('the story of a change of the settings', () => {
  test.each([
    ['a limit that is raised above that of the file', {}, limit(200), 'one.raised'],
    ['a limit that is lowered', limit(200), limit(150), 'one.lowered'],
    ['a limit that is given back', limit(200), {}, 'one.back'],
    ['a switch', { shadow: false }, { shadow: true }, 'one.on'],
    ['a mode', { mode: 'loose' }, { mode: 'custom' }, 'one.changed'],
    ['more values than one', {}, { mode: 'loose', ...limit(1) }, 'settings.many'],
  ])('the story of a change of the settings is about %s', (_what, from, to, sentence) => {
    expect(story({ from, to }).sentence).toBe(sentence)
    expect(isUndoable(entryOf({ from, to }))).toBe(true)
  })

  test('the story of a change of the settings names what the file has where no value was set', () => {
    expect(story({ to: limit(200) }).change).toMatchObject({ from: undefined, to: 200, file: 120 })
    expect(comesBack(entryOf({ to: limit(200) }), FILE)).toMatchObject([{ from: 200, to: undefined }])
  })

  const layer = (more: object = {}) => ({
    ...{ id: 'e', from: '2026-11-20T10:00:00Z', until: null, value: limit(200), who: 'bob', why: null },
    ...more,
  })

  test('the story of a change of the settings says until when it is so, how it is guarded, and which ends and guards it drops', () => {
    const guard = { until: '2026-11-20T10:10:00Z', refused: 0.05 }
    const made = layer({ until: '2026-11-21T00:00:00Z', guard })
    expect(story({ to: { layers: [made] } })).toMatchObject({
      sentence: 'one.raised',
      change: { path: 'baselines.personal.read.1h', to: 200, file: 120 },
      notes: [
        { kind: 'until', at: made.until },
        { kind: 'guarded', at: guard.until, share: 0.05 },
      ],
    })
    expect(story({ from: { layers: [made] }, to: limit(150) }).notes).toEqual([
      { kind: 'dropped', at: made.until },
      { kind: 'guardEnded' },
    ])
  })

  test('the story of a change says once that it ended guards, or ends at one moment, however many they were', () => {
    const guard = { until: '2026-11-20T10:10:00Z', refused: 0.05 }
    const [a, b] = ['a', 'b'].map((id) => ({ ...layer({ until: '2026-11-21T00:00:00Z', guard }), id }))
    expect(story({ from: { layers: [a, b] }, to: limit(150) }).notes).toEqual([
      { kind: 'dropped', at: '2026-11-21T00:00:00Z' },
      { kind: 'guardEnded' },
    ])
  })

  test('a change of settings or of an override is over once all that it set has ended, and nothing else was replaced', () => {
    const [end, later] = ['2026-11-21T00:00:00Z', '2026-11-22T00:00:00Z']
    const [short, long] = [layer({ until: end }), layer({ until: later })]
    const over = (from: unknown, to: unknown, at = end) => isOver(entryOf({ from, to }), Date.parse(at))
    expect(over(null, { layers: [short] })).toBe(true)
    expect(over(null, { limits: {}, factor: 1.5, expiresAt: end })).toBe(true)
    expect(over(limit(9), { ...limit(9), layers: [short] })).toBe(true)
    expect(over({ layers: [short] }, { layers: [layer({ id: 'f', until: later })] }, later)).toBe(true)
    // Still in force, set for good, or in the place of what would be in force still.
    expect(over(null, { layers: [short] }, '2026-11-20T23:59:59Z')).toBe(false)
    expect(over(null, limit(9))).toBe(false)
    expect(over(limit(9), limit(9))).toBe(false)
    expect(over({ layers: [long] }, { layers: [short] })).toBe(false)
    expect(over({ layers: [short] }, limit(9))).toBe(false)
  })

  test('the story of a change of the settings that only moves an end says so', () => {
    const [before, after] = [
      layer({ until: '2026-11-21T00:00:00Z' }),
      layer({ id: 'f', until: '2026-11-22T00:00:00Z' }),
    ]
    expect(story({ from: { layers: [before] }, to: { layers: [after] } })).toMatchObject({
      sentence: 'ends',
      at: after.until,
    })
  })

  test('the story of a change of the settings is about what is to come, about its being cancelled, and about its beginning and end', () => {
    const start = layer({ from: '2026-11-21T00:00:00Z', until: '2026-11-22T00:00:00Z', value: { mode: 'loose' } })
    const [there, none] = [{ layers: [start] }, {}]
    expect(story({ to: there })).toMatchObject({ sentence: 'scheduled', at: start.from, changes: [{ path: 'mode' }] })
    expect(story({ from: there })).toMatchObject({ sentence: 'cancelled', at: start.from, by: 'bob' })
    expect(isUndoable(entryOf({ to: there }))).toBe(true)
    const at = '2026-11-21T00:00:01Z'
    const begun = { at, who: 'schedule', from: there, to: there, why: 'begins as scheduled by bob' }
    expect(story(begun)).toMatchObject({
      sentence: 'schedule.begin',
      by: 'bob',
      changes: [{ path: 'mode', to: 'loose' }],
    })
    expect(isUndoable(entryOf(begun))).toBe(true)
    const ended = {
      at: '2026-11-22T00:00:01Z',
      who: 'schedule',
      from: there,
      to: none,
      why: 'ends as scheduled by bob',
    }
    expect(story(ended)).toMatchObject({ sentence: 'schedule.end', changes: [{ path: 'mode', from: 'loose' }] })
    expect(isUndoable(entryOf(ended))).toBe(false)
  })

  test('the story of a change of the settings says how many requests made the guard take a change back', () => {
    const from = { layers: [layer({ guard: { until: '', refused: 0.05 } })] }
    const why = 'takes back the change of bob: 7.0 % of 200 weighed requests were refused, and 5 % may be'
    expect(story({ who: 'guard', from, to: {}, why })).toMatchObject({
      ...{ sentence: 'guard.counted', by: 'bob', share: 0.07, counts: { requests: 200 }, why: null },
    })
    expect(
      story({
        who: 'guard',
        from,
        to: limit(200),
        why: 'keeps the change of bob: 0.0 % of 0 weighed requests were refused',
      }),
    ).toMatchObject({ sentence: 'guard.keeps' })
  })

  test('the story of a change of the settings names the change that it undoes, and the reason alone', () => {
    expect(story({ from: limit(200), why: 'undo of 7: too many' })).toMatchObject({
      ...{ sentence: 'undo', undone: 7, why: 'too many' },
    })
  })
})

describe('the story of another change', () => {
  const override = { limits: { read: { '1h': 7 } }, bypassGlobal: false, shadow: false, reason: 'why', expiresAt: null }

  test('the story of another change is about an override without what is off and without its reason', () => {
    const set = { what: 'override', subject: 'bob', from: null, to: override } as const
    expect(story(set)).toMatchObject({ sentence: 'override.set', changes: [{ path: 'limits.read.1h', to: 7 }] })
    expect(story(set).changes).toHaveLength(1)
    expect(story({ ...set, from: override, to: null }).sentence).toBe('override.removed')
  })

  test('the story of another change says of the same value with another end that its end moved, and of a factor what it multiplies', () => {
    const layer = (id: string, until: string) => ({
      ...{ id, from: null, until, value: { shadow: true } },
      who: 'ann',
      why: null,
    })
    const [from, to] = ['2099-01-01T10:00:00.000Z', '2099-01-01T12:00:00.000Z']
    const moved = story({ from: { layers: [layer('a', from)] }, to: { layers: [layer('b', to)] } })
    expect(moved.notes).toEqual([{ kind: 'moved', from, at: to }])
    const half = { ...layer('c', to), value: { ...override, limits: {}, factor: 1.5 } }
    const above = story({ what: 'override', subject: 'etl', from: override, to: { ...override, layers: [half] } })
    expect(above.changes).toMatchObject([
      { path: 'expiresAt', to },
      { path: 'factor', to: 1.5 },
    ])
  })

  test('the story of another change counts the overrides of a file', () => {
    const to = { total: 50, added: 49, changed: 1, removed: 0, overrides: {} }
    expect(story({ what: 'overrides', from: {}, to })).toMatchObject({
      sentence: 'overrides',
      counts: { total: 50, added: 49 },
    })
    expect(isUndoable(entryOf({ what: 'overrides' }))).toBe(true)
    expect(story({ what: 'overrides', from: {}, to, why: 'undo of 12: cut' })).toMatchObject({
      ...{ sentence: 'overrides.undo', undone: 12, why: 'cut' },
      counts: { total: 50 },
    })
    const forgotten = { subject: 'forgotten-0123456789ab', from: null, to: { limits: {} } }
    expect(isUndoable(entryOf({ what: 'override', ...forgotten }))).toBe(false)
    expect(isUndoable(entryOf({ what: 'override', ...forgotten, subject: 'forgotten' }))).toBe(true)
  })

  test('the story of another change has what was used in the windows that were emptied', () => {
    const reset = {
      what: 'quota_reset',
      subject: 'organisation:read:acme',
      from: { '1h': 311 },
      to: { '1h': 0 },
    } as const
    expect(story(reset)).toMatchObject({ sentence: 'quota_reset_organisation', changes: [{ path: '1h', to: 311 }] })
  })
})

test('a window is in words', () => {
  expect([windowWords('en', '1h'), windowWords('en', '5h'), windowWords('zh', '1d')]).toEqual([
    '1 hour',
    '5 hours',
    '1 天',
  ])
  expect(windowWords('en', 'month')).toBe('month')
})
