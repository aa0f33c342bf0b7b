import { expect, test } from 'vitest'
import type { UserResponse } from '../../src/contract/api.ts'
import { undoneBy } from '../../src/dashboard/logic/audit-undone.ts'
import { defaultOf, fullAfter, patchOf, withDefaults } from '../../src/dashboard/logic/undo-effect.ts'

const entries = (...whys: (string | null)[]) => whys.map((why, i) => ({ version: i + 1, why }))

test('a change is undone by the latest undo of it, unless that was undone itself', () => {
  expect([...undoneBy(entries(null, 'undo of 1'))]).toEqual([[1, 2]])
  expect([...undoneBy(entries(null, 'undo of 1: by mistake', 'undo of 2'))]).toEqual([[2, 3]])
  expect([...undoneBy(entries(null, 'undo of 1', 'undo of 2', 'undo of 1'))]).toEqual([
    [1, 4],
    [2, 3],
  ])
  // Nobody undoes what is to come, nor by a reason that only begins so.
  expect([...undoneBy(entries('undo of 2', 'undo of 1 again'))]).toEqual([])
})

const quota = {
  effective: {
    personal: { read: { '1h': 300 } },
    global: {},
    plans: { pro: { personal: { read: { '1h': 1200 } }, organisation: {} } },
  },
  defaultPlan: null,
  cheapest: { read: 2 },
} as unknown as Parameters<typeof fullAfter>[2]
const userOf = (used: number, plan: string | null = null) =>
  ({
    windows: { read: [{ scope: 'Personal', window: '1h', used, resetAt: null }] },
    plan: { name: plan },
  }) as unknown as UserResponse

test('the limit that comes into force with an undo is that of the override before, of the plan, or of everybody', () => {
  const place = { category: 'read', window: '1h' }
  expect(defaultOf(null, userOf(0), quota, place)).toBe(300)
  expect(defaultOf(null, userOf(0, 'pro'), quota, place)).toBe(1200)
  expect(defaultOf({ plan: 'pro' }, userOf(0), quota, place)).toBe(1200)
  const changes = [{ path: 'limits.read.1h', from: 450, to: undefined, file: undefined }]
  expect(withDefaults(changes, null, userOf(0), quota)).toMatchObject([{ file: 300 }])
})

test('a window is full after an undo if the cheapest request has no room in it', () => {
  const limits = (back: Parameters<typeof fullAfter>[0], used: number) =>
    fullAfter(back, userOf(used), quota).map(({ limit }) => limit)
  expect(limits(null, 298)).toEqual([])
  expect(limits(null, 299)).toEqual([300])
  expect(limits({ limits: { read: { '1h': 80 } } }, 79)).toEqual([80])
  expect(limits({ limits: { read: { '1h': 80 } }, shadow: true }, 79)).toEqual([])
})

test('the undo of settings is a change that follows the file where nothing was set', () => {
  const changes = [
    { path: 'mode', from: 'loose', to: undefined, file: 'normal' },
    { path: 'baselines.personal.read.1h', from: 200, to: 150, file: 120 },
  ]
  expect(patchOf(changes)).toEqual({ mode: null, baselines: { personal: { read: { '1h': 150 } } } })
})
