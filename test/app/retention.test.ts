import { expect, test } from 'vitest'
import { retentionOf } from '../../src/app/retention.ts'
import { parseConfig } from '../../src/config/load.ts'

function retention(more: string) {
  const loaded = parseConfig(`upstream: { url: "http://127.0.0.1:9000" }\n${more}\n`, 'f', {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return retentionOf(loaded.config)
}

test('runs are kept for as long as usage says, by default 35 days and 48 hours', () => {
  expect(retention('')).toMatchObject({ longestSeconds: 35 * 86_400, shorterSeconds: 48 * 3600, anonymousSeconds: 0 })
  const own = retention('usage: { keep: 90d, shorter: 0d, anonymous: 1500ms }')
  expect(own).toMatchObject({ longestSeconds: 90 * 86_400, shorterSeconds: 0, anonymousSeconds: 2 })
})

test('callers by an address or by an unverified key are anonymous, and users of such a name where there are none of these', () => {
  const names = ['alice', 'address:10.0.0.1', 'key:abc']
  expect(names.map(retention('').isAnonymous)).toEqual([false, false, false])
  const keys = retention('auth: { unverified_keys: { header: X-API-Key } }')
  expect(names.map(keys.isAnonymous)).toEqual([false, false, true])
  const addresses = retention('auth: { anonymous: { by: address } }')
  expect(names.map(addresses.isAnonymous)).toEqual([false, true, false])
})
