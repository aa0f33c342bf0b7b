import { describe, expect, test } from 'vitest'
import {
  changesOf,
  movedTo,
  noneFits,
  patchOf,
  scaledPersonal,
  steppedMultiplier,
  stillEdits,
  valueAt,
  withEdit,
  withoutEdit,
} from '../../src/dashboard/logic/settings.ts'
import { QUOTA } from './quota.ts'

describe('an edit', () => {
  test('an edit is kept by the path that the API names it by', () => {
    expect(withEdit({}, QUOTA, 'baselines.personal.read.1h', '90')).toEqual({ 'baselines.personal.read.1h': '90' })
  })

  test('back to the value in force is no edit', () => {
    const draft = withEdit({}, QUOTA, 'mode', 'normal')
    expect(withEdit(draft, QUOTA, 'mode', 'loose')).toEqual({})
    expect(withEdit({}, QUOTA, 'global.enabled', true)).toEqual({})
    expect(withEdit({}, QUOTA, 'custom.personal.read.1h', ' ')).toEqual({})
  })

  test('an edit of a soft limit is text as `1000 + 200`, changes nothing as the same in other spacing, and is raised in both parts', () => {
    const path = 'baselines.personal.read.1h'
    const read = { '1h': { limit: 1000, over: 200 }, '1d': 'unlimited' as const }
    const quota = { ...QUOTA, baselines: { ...QUOTA.baselines, personal: { ...QUOTA.baselines.personal, read } } }
    expect(withEdit({}, quota, path, '1000+200')).toEqual({})
    expect(patchOf({ [path]: '900 + 90' }).patch).toEqual({
      baselines: { personal: { read: { '1h': { limit: 900, over: 90 } } } },
    })
    expect(patchOf({ [path]: '900 + ' }).problems).toEqual({ [path]: 'problem.limit' })
    expect(scaledPersonal(quota, {}, 1.2)).toMatchObject({ [path]: '1200 + 240' })
    expect(movedTo(quota, {}, path, 700)).toBe('700 + 200')
  })

  test('an edit gives only back to the file what was changed at run time', () => {
    expect(withEdit({}, QUOTA, 'mode', null)).toEqual({ mode: null })
    expect(withEdit({}, QUOTA, 'global.multiplier', null)).toEqual({})
  })

  test('an edit that others have made meanwhile is no edit', () => {
    const draft = { mode: 'loose', shadow: true, 'global.multiplier': null }
    expect(stillEdits(draft, QUOTA)).toEqual({ shadow: true })
    expect(stillEdits({ shadow: true }, QUOTA)).toEqual({ shadow: true })
  })

  test('an edit is undone by itself', () => {
    expect(withoutEdit({ mode: 'normal', shadow: true }, 'mode')).toEqual({ shadow: true })
  })
})

describe('all personal limits at once', () => {
  test('all personal limits at once are multiplied and rounded, in the fields that the mode goes by', () => {
    expect(scaledPersonal(QUOTA, {}, 0.8)).toEqual({
      'baselines.personal.read.1h': '80',
      'baselines.personal.read.1d': '960',
      'baselines.personal.write.1h': '48',
      'baselines.personal.write.1d': '480',
    })
    expect(scaledPersonal(QUOTA, { mode: 'custom' }, 0.5)).toEqual({
      mode: 'custom',
      'custom.personal.read.1h': '50',
      'custom.personal.read.1d': '600',
      'custom.personal.write.1h': '30',
      'custom.personal.write.1d': '300',
    })
  })

  test('all personal limits at once go on from what is typed, leave what is no limit, and never make a limit 0', () => {
    const typed = { 'baselines.personal.read.1h': '10', 'baselines.personal.read.1d': 'x', shadow: true }
    expect(scaledPersonal(QUOTA, typed, 0.01)).toMatchObject({
      'baselines.personal.read.1h': '1',
      'baselines.personal.read.1d': 'x',
      shadow: true,
    })
    const none = { 'baselines.personal.read.1h': '0' }
    expect(scaledPersonal(QUOTA, none, 1.2)).toMatchObject(none)
  })
})

describe('the body of a change', () => {
  test('the body of a change has what was edited and nothing else, null for what is given back', () => {
    const { patch } = patchOf({
      mode: 'custom',
      shadow: true,
      'global.multiplier': '2.5',
      'baselines.personal.read.1h': null,
      'baselines.global.write.1d': '70000',
      'custom.personal.read.1h': ' 5 ',
    })
    expect(patch).toEqual({
      mode: 'custom',
      shadow: true,
      global: { multiplier: 2.5 },
      baselines: { personal: { read: { '1h': null } }, global: { write: { '1d': 70000 } } },
      custom: { personal: { read: { '1h': 5 } } },
    })
  })

  test('the body of a change gives an emptied custom value back, and asks for an emptied baseline', () => {
    expect(patchOf({ 'custom.global.read.1h': '' }).patch).toEqual({ custom: { global: { read: { '1h': null } } } })
    expect(patchOf({ 'baselines.global.read.1h': '' })).toEqual({
      patch: null,
      problems: { 'baselines.global.read.1h': 'problem.empty' },
    })
  })

  test('the body of a change has limits of plans, whatever their names are, and says where a window has none', () => {
    expect(
      patchOf({ 'plans.pro v1.5.personal.read.1h': '80', 'plans.free.organisation.read.1d': 'unlimited' }).patch,
    ).toEqual({
      plans: {
        'pro v1.5': { personal: { read: { '1h': 80 } } },
        free: { organisation: { read: { '1d': 'unlimited' } } },
      },
    })
    expect(patchOf({ 'plans.free.personal.read.1h': '' }).patch).toEqual({
      plans: { free: { personal: { read: { '1h': null } } } },
    })
  })

  test.each(['-1', '1.5', '1e3', 'many', '1000000000001'])('the body of a change takes no limit of %s', (text) => {
    expect(patchOf({ 'baselines.personal.read.1h': text }).problems).toEqual({
      'baselines.personal.read.1h': 'problem.limit',
    })
  })

  test.each(['', '0.2', '4.01', 'x', '1,5', '1e0', '0x2'])('the body of a change takes no multiplier of %j', (text) => {
    expect(patchOf({ 'global.multiplier': text }).problems).toEqual({ 'global.multiplier': 'problem.multiplier' })
  })

  test.each([
    ['1.125', 1.125],
    ['.5', 0.5],
    ['3.', 3],
  ])('the body of a change takes a multiplier of %s', (text, multiplier) => {
    expect(patchOf({ 'global.multiplier': text }).patch).toEqual({ global: { multiplier } })
  })

  test.each([
    ['1.1', true, '1.15'],
    ['1.125', false, '1.075'],
    ['3.99', true, '4'],
    ['0.25', false, '0.25'],
    ['1,5', true, '1,5'],
  ])('the body of a change steps a multiplier of %s (up: %s) to %s', (text, up, next) => {
    expect(steppedMultiplier(text, up)).toBe(next)
  })

  test('the body of a change takes the bounds themselves', () => {
    expect(patchOf({ 'global.multiplier': '0.25', 'baselines.personal.read.1h': '0' }).patch).not.toBeNull()
    expect(patchOf({ 'global.multiplier': '4', 'baselines.personal.read.1h': '1000000000000' }).patch).not.toBeNull()
  })
})

test('the list of changes says from what to what, by the file if a value is given back', () => {
  expect(changesOf(QUOTA, { 'baselines.personal.read.1h': null, 'global.enabled': false })).toEqual([
    { path: 'baselines.personal.read.1h', from: 100, to: 120, toFile: true },
    { path: 'global.enabled', from: true, to: false, toFile: false },
  ])
})

test('a value that is not there is null', () => {
  expect(valueAt(QUOTA, 'custom.personal.read.1h')).toBeNull()
  expect(valueAt(QUOTA, 'baselines.personal.none.1h')).toBeNull()
  const plans = { 'pro v1.5': { personal: { read: { '1h': 80 } }, organisation: {} } }
  expect(valueAt({ ...QUOTA, plans }, 'plans.pro v1.5.personal.read.1h')).toBe(80)
  expect(valueAt({ ...QUOTA, plans }, 'plans.pro v1.personal.read.1h')).toBeNull()
})

test('limits that no request fits into are found in both scopes if anything of the category may be refused', () => {
  const effective = {
    personal: { read: { '1h': 1, '1d': 2 }, write: { '1h': 9 }, other: { '1h': 0 } },
    global: { write: { '1d': 0 } },
  }
  expect(noneFits(effective, { read: 2, write: 10 })).toEqual([
    { scope: 'personal', category: 'read', window: '1h' },
    { scope: 'personal', category: 'write', window: '1h' },
    { scope: 'global', category: 'write', window: '1d' },
  ])
})
