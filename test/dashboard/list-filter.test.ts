import { expect, test } from 'vitest'
import { filterOf, isDear, isFiltered, listRangeOf } from '../../src/dashboard/logic/list-filter.ts'

test('a filter has what the address asks for, and nothing that the API would refuse', () => {
  const fields = { blocked: 'true', override: 'yes', shadow: 'true', plan: 'gold', query: 'bo' }
  expect(filterOf(fields, 'users', ['gold'])).toEqual({ blocked: 'true', shadow: 'true', plan: 'gold' })
  expect(filterOf(fields, 'organisations', ['silver'])).toEqual({ blocked: 'true' })
  // Until the plans are known the one of the address is asked for.
  expect(filterOf({ plan: 'gold' }, 'users', null)).toEqual({ plan: 'gold' })
  expect(filterOf({ plan: '' }, 'users', null)).toEqual({})
})

test('what only an override decides is cheap', () => {
  expect(
    [{}, { override: 'true' }, { blocked: 'true' }, { plan: 'gold' }].map((each) => isDear(each as never)),
  ).toEqual([false, false, true, true])
  expect([isFiltered({}), isFiltered({ shadow: 'true' })]).toEqual([false, true])
})

test('tokens are those of the last day, unless the address asks for others that there are', () => {
  expect([undefined, '1h', '7d', 'windows'].map(listRangeOf)).toEqual(['24h', '24h', '7d', 'windows'])
})
