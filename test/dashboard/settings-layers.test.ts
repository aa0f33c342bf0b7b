import { expect, test } from 'vitest'
import type { LayerResponse } from '../../src/contract/api.ts'
import { followsIn, isOnTop, notesOfPatch } from '../../src/dashboard/logic/settings-layers.ts'

const iso = (hour: number) => new Date(Date.UTC(2026, 10, 27, hour)).toISOString()
const read = (limit: number) => ({ baselines: { personal: { read: { '1h': limit } } } })
const READ = 'baselines.personal.read.1h'
const layer = (id: string, until: number | null, value: LayerResponse['value'], more: Partial<LayerResponse> = {}) => ({
  ...{ id, from: iso(9), until: until === null ? null : iso(until), state: 'in_force' as const, value },
  ...{ who: 'ann', why: id, ...more },
})
const NIGHT = layer('night', 12, read(30))
const DAY = layer('day', 18, { ...read(50), shadow: true })
const PERMANENT = layer('permanent', null, { mode: 'loose' })
const LAYERS: readonly LayerResponse[] = [NIGHT, DAY, PERMANENT]

test('behind the end of a layer is in force what the next one says, and at last the file', () => {
  expect(followsIn(LAYERS, NIGHT, READ.split('.'))).toBe(50)
  expect(followsIn(LAYERS, DAY, READ.split('.'))).toBeUndefined()
  expect(followsIn([layer('a', 12, { mode: 'normal' }), PERMANENT], layer('a', 12, {}), ['mode'])).toBe('loose')
})

test('the end of a layer is moved as a whole only where no newer one sets a part of it', () => {
  expect(LAYERS.map((one) => isOnTop(LAYERS, one))).toEqual([true, false, true])
})

test('a change for good drops the ends of what it sets, and the guard of which it sets all', () => {
  const guard = { until: iso(10), refused: 0.05 }
  const layers = [layer('guarded', 12, read(30), { guard }), DAY, PERMANENT]
  const forGood = { until: null, isGuarded: false }
  expect(notesOfPatch(layers, read(70), forGood)).toEqual([
    { kind: 'dropped', id: 'guarded', at: iso(12), why: 'guarded' },
    { kind: 'guardEnded', id: 'guarded', at: iso(10) },
    { kind: 'dropped', id: 'day', at: iso(18), why: 'day' },
  ])
  expect(notesOfPatch(layers, read(70), { ...forGood, until: iso(20) })).toEqual([
    { kind: 'guardEnded', id: 'guarded', at: iso(10) },
  ])
  expect(notesOfPatch(layers, { mode: 'normal' }, forGood)).toEqual([])
})
