import { expect, test } from 'vitest'
import { audit } from '../../src/dashboard/i18n/en/audit.ts'
import { common } from '../../src/dashboard/i18n/en/common.ts'
import { keys } from '../../src/dashboard/i18n/en/keys.ts'
import { limits } from '../../src/dashboard/i18n/en/limits.ts'
import { overview } from '../../src/dashboard/i18n/en/overview.ts'
import { refusals } from '../../src/dashboard/i18n/en/refusals.ts'
import { traffic } from '../../src/dashboard/i18n/en/traffic.ts'
import { users } from '../../src/dashboard/i18n/en/users.ts'
import { en, type TextKey } from '../../src/dashboard/i18n/en.ts'
import { zh } from '../../src/dashboard/i18n/zh.ts'

const holes = (text: string): string => (text.match(/\{\w+\}/g) ?? []).sort().join()

test('every text has the same holes in both languages', () => {
  const keys = Object.keys(en) as TextKey[]
  expect(Object.keys(zh).sort()).toEqual([...keys].sort())
  expect(keys.filter((key) => holes(zh[key]) !== holes(en[key]))).toEqual([])
  expect(keys.filter((key) => zh[key].trim() === '')).toEqual([])
})

const AREAS = [audit, common, keys, limits, overview, refusals, traffic, users]

test('no text of one area takes the place of another one', () => {
  const keys = AREAS.flatMap((area) => Object.keys(area))
  expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
  expect(keys.sort()).toEqual(Object.keys(en).sort())
})
