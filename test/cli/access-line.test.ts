import { expect, test } from 'vitest'
import { accessLine } from '../../src/cli/access-line.ts'
import { readCombinedLine } from '../../src/replay/server-logs.ts'

const NOW = Date.parse('2026-11-26T10:00:01Z')
const seen = { user: 'key:a', kind: 'unverified_key', method: 'GET', httpStatus: 200, clientStatus: 200 }

test('a line has the path and never the query', () => {
  expect(accessLine('/items/1?secret=2', seen, NOW)).toBe(
    '- - key:a [26/Nov/2026:10:00:01 +0000] "GET /items/1 HTTP/1.1" 200 0\n',
  )
})

test('a caller without a credential is the address', () => {
  expect(accessLine('/', { ...seen, user: 'address:192.0.2.1', kind: 'address' }, NOW)).toMatch(/^192\.0\.2\.1 - - \[/)
  expect(accessLine('/', { ...seen, user: null, kind: null }, NOW)).toBeNull()
})

test.each([null, 0])('a request that the service did not respond to (%s) is no line', (httpStatus) => {
  expect(accessLine('/', { ...seen, httpStatus, clientStatus: 502 }, NOW)).toBeNull()
})

test.each(['/"x"', '/a\\b', '/%20/]', '/[x]'])('the path %j is read as it was sent', (path) => {
  const line = accessLine(path, { ...seen, user: 'a "b' }, NOW)
  const reading = readCombinedLine((line ?? '').trimEnd())
  expect(reading).toMatchObject({ kind: 'request', entry: { user: 'a "b', target: { kind: 'path', text: path } } })
})
