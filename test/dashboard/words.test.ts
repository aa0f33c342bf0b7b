import { expect, test } from 'vitest'
import { audit } from '../../src/dashboard/i18n/en/audit.ts'
import { common } from '../../src/dashboard/i18n/en/common.ts'
import { errors } from '../../src/dashboard/i18n/en/errors.ts'
import { grants } from '../../src/dashboard/i18n/en/grants.ts'
import { jump } from '../../src/dashboard/i18n/en/jump.ts'
import { keys } from '../../src/dashboard/i18n/en/keys.ts'
import { limits } from '../../src/dashboard/i18n/en/limits.ts'
import { organisations } from '../../src/dashboard/i18n/en/organisations.ts'
import { overview } from '../../src/dashboard/i18n/en/overview.ts'
import { refusals } from '../../src/dashboard/i18n/en/refusals.ts'
import { replicas } from '../../src/dashboard/i18n/en/replicas.ts'
import { routes } from '../../src/dashboard/i18n/en/routes.ts'
import { series } from '../../src/dashboard/i18n/en/series.ts'
import { status } from '../../src/dashboard/i18n/en/status.ts'
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

const AREAS = [
  grants,
  common,
  overview,
  limits,
  errors,
  status,
  series,
  users,
  organisations,
  refusals,
  jump,
  keys,
  replicas,
  routes,
  audit,
]

test('no text of one area takes the place of another one', () => {
  const keys = AREAS.flatMap((area) => Object.keys(area))
  expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
  expect(keys.sort()).toEqual(Object.keys(en).sort())
})
