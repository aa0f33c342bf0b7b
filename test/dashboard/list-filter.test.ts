import { expect, test } from 'vitest'
import { filterOf, offsetOf, offsetWithin, pagesBeside } from '../../src/dashboard/logic/list-filter.ts'

test('a filter has what the address asks for, and nothing that the API would refuse', () => {
  const fields = { blocked: 'true', override: 'yes', shadow: 'true', near: 'true', plan: 'gold', query: 'bo' }
  expect(filterOf(fields, 'users', ['gold'])).toEqual({ blocked: 'true', shadow: 'true', near: 'true', plan: 'gold' })
  expect(filterOf(fields, 'organisations', ['silver'])).toEqual({ blocked: 'true', near: 'true' })
  // Until the plans are known the one of the address is asked for.
  expect(filterOf({ plan: 'gold' }, 'users', null)).toEqual({ plan: 'gold' })
  expect(filterOf({ plan: '' }, 'users', null)).toEqual({})
})

test('the pages of a list lead to the one before and the one behind, as far as there are any', () => {
  expect(['50', 'next', '-1', undefined].map((cursor) => offsetOf(cursor === undefined ? {} : { cursor }))).toEqual([
    50, 0, 0, 0,
  ])
  expect(pagesBeside(0, 60)).toEqual({ before: null, behind: 25 })
  expect(pagesBeside(25, 60)).toEqual({ before: 0, behind: 50 })
  expect(pagesBeside(50, 60)).toEqual({ before: 25, behind: null })
  expect(pagesBeside(0, 25)).toEqual({ before: null, behind: null })
})

test('an offset beyond the end of a list is that of its last page', () => {
  expect([25, 29, 30, 50, 500].map((offset) => offsetWithin(offset, 30))).toEqual([25, 29, 25, 25, 25])
  expect(offsetWithin(25, 25)).toBe(0)
  expect(offsetWithin(50, 0)).toBe(0)
})
