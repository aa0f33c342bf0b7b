import { expect, test } from 'vitest'
import { en, type TextKey } from '../../src/dashboard/i18n/en.ts'
import { zh } from '../../src/dashboard/i18n/zh.ts'

const holes = (text: string): string => (text.match(/\{\w+\}/g) ?? []).sort().join()

test('every text has the same holes in both languages', () => {
  const keys = Object.keys(en) as TextKey[]
  expect(Object.keys(zh).sort()).toEqual([...keys].sort())
  expect(keys.filter((key) => holes(zh[key]) !== holes(en[key]))).toEqual([])
  expect(keys.filter((key) => zh[key].trim() === '')).toEqual([])
})
