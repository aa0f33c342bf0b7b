import { expect, test } from 'vitest'
import { areas, en, type TextKey } from '../../src/dashboard/i18n/en.ts'
import { zh } from '../../src/dashboard/i18n/zh.ts'

const holes = (text: string): string => (text.match(/\{\w+\}/g) ?? []).sort().join()

test('every text has the same holes in both languages', () => {
  const keys = Object.keys(en) as TextKey[]
  expect(keys.filter((key) => holes(zh[key]) !== holes(en[key]))).toEqual([])
  expect(keys.filter((key) => zh[key].trim() === '')).toEqual([])
})

test('no text of one area takes the place of another one', () => {
  const keys = areas.flatMap((area) => Object.keys(area))
  expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
  expect(keys.sort()).toEqual(Object.keys(en).sort())
})
