import { expect, it } from 'vitest'
import { comboName, levelLabel, rateOf, strongerCombo, strongerSync, syncName } from '../../music/labels.ts'
import { COMBO, SYNC } from '../../music/lamps.ts'

it.each([0, 1, 2, 3, 4])('lamps of the combo %i have a name that means it', (combo) => {
  expect(COMBO.get(comboName(combo) || 'none')).toBe(combo)
})

it.each([0, 1, 2, 3, 4, 5])('lamps of the sync %i have a name that means it', (sync) => {
  expect(SYNC.get(syncName(sync) || 'none')).toBe(sync)
})

it('lamps are ranked by strength and not by number: sync, which is 5, is the weakest', () => {
  const ranked = ['none', 'sync', 'fs', 'fsp', 'fsd', 'fsdp'].map((name) => SYNC.get(name) as number)
  for (const [i, weak] of ranked.entries()) {
    for (const strong of ranked.slice(i)) {
      expect(strongerSync(weak, strong)).toBe(strong)
      expect(strongerSync(strong, weak)).toBe(strong)
    }
  }
  expect(strongerCombo(3, 1)).toBe(3)
  expect(strongerCombo(1, 3)).toBe(3)
})

it('names show the rank from its first achievement on', () => {
  expect([0, 499_999, 500_000, 799_999, 994_999, 995_000, 1_004_999, 1_005_000, 1_010_000].map(rateOf)).toEqual([
    'd',
    'd',
    'c',
    'bbb',
    'ss',
    'ssp',
    'sss',
    'sssp',
    'sssp',
  ])
})

it('names show the level, utage included', () => {
  expect([0, 1, 2, 3, 4, 10].map(levelLabel)).toEqual(['Basic', 'Advanced', 'Expert', 'Master', 'Re:MASTER', 'Utage'])
})
