import { describe, expect, test } from 'vitest'
import { backoffMs } from '../../src/dashboard/logic/backoff.ts'
import * as format from '../../src/dashboard/logic/format.ts'
import { logFilter } from '../../src/dashboard/logic/log-filter.ts'

const plain = (text: string): string => text.replace(/\s/g, ' ')

describe('a duration', () => {
  test.each([
    [0, '0 seconds'],
    [1, '1 second'],
    [59_001, '1 minute'],
    [125_000, '2 minutes 5 seconds'],
    [3_600_000, '1 hour'],
    [86_400_000 + 5 * 3_600_000, '1 day 5 hours'],
    [86_400_000 + 5 * 3_600_000 + 1, '1 day 6 hours'],
    [7_501_000, '2 hours 6 minutes'],
    [86_399_000, '1 day'],
    [2 * 86_400_000 - 1000, '2 days'],
  ])('a duration of %d ms is %s', (ms, text) => {
    expect(plain(format.formatDuration('en', ms))).toBe(text)
  })
  test('a duration is written in Chinese too', () => {
    expect(plain(format.formatDuration('zh', 125_000))).toBe('2 分钟 5 秒钟')
  })
})

test('the end of a window has whole seconds, as in the 429, and is never too early', () => {
  expect(format.wholeSecond('2026-11-20T11:10:21.001Z')).toBe('2026-11-20T11:10:22.000Z')
  expect(format.wholeSecond('2026-11-20T11:10:22.000Z')).toBe('2026-11-20T11:10:22.000Z')
})

test('a half-hour is written in a time zone, with its day once', () => {
  const from = new Date('2026-11-20T23:30:00Z')
  const to = new Date('2026-11-21T00:00:00Z')
  expect(format.formatSpan('en', from, to, 'UTC')).toBe('Fri 20 Nov 23:30–00:00')
  expect(format.formatSpan('en', from, to, 'Asia/Shanghai')).toBe('Sat 21 Nov 07:30–08:00')
  const dayLater = new Date(from.getTime() + 86_400_000)
  expect(format.formatSpan('en', from, dayLater, 'UTC')).toBe('Fri 20 Nov')
})

test('numbers are grouped, rates and shares are short', () => {
  expect(format.formatNumber('en', 1_234_567)).toBe('1,234,567')
  const rates = [0, 0.166, 12.3456, 1234].map((value) => format.formatRate('en', value))
  expect(rates).toEqual(['0.0', '0.2', '12.3', '1,234.0'])
  expect(format.formatRate('zh', 0.004)).toBe('< 0.1')
  const short = [0.5, 1500, 12_500, 3e6].map((value) => format.formatShort('en', value))
  expect(short).toEqual(['0.5', '1,500', '12.5K', '3M'])
  expect(format.formatShort('zh', 125_000)).toBe('12.5万')
  expect(format.formatShare('en', 0.012345)).toBe('1.23%')
})

test('a share that is nearly all is not written as all', () => {
  expect([0.9996, 1, 0.57, 1.25].map((share) => format.formatShare('en', share))).toEqual([
    '99.9%',
    '100%',
    '57%',
    '125%',
  ])
})

test('the log filter takes the failed requests of the half-hour, by the fields of the log', () => {
  const line = logFilter(new Date(1_000), new Date(1_801_000))
  expect(line).toBe(
    "jq -cR 'fromjson? | select(.time >= 1000 and .time < 1801000 and (.httpStatus == 0 or .httpStatus >= 500 or .clientStatus >= 500))' tollgate.log",
  )
  expect(logFilter(new Date(1_000), new Date(1_801_000), { route: `GET /it's/"*"`, with4xx: true })).toBe(
    `jq -cR 'fromjson? | select(.time >= 1000 and .time < 1801000 and (.httpStatus == 0 or .httpStatus >= 400 or .clientStatus >= 500) and .route == "GET /it\\u0027s/\\"*\\"")' tollgate.log`,
  )
})

test('attempts come later and later, up to a quarter of a minute', () => {
  expect([1, 2, 3, 4, 5, 50].map(backoffMs)).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000])
})

test.each([
  [44 * 60_000, 'in 44 minutes', '44 分钟后'],
  [43.2 * 60_000, 'in 44 minutes', '44 分钟后'],
  [3_600_000, 'in 1 hour', '1 小时后'],
  [3_600_001, 'in 1 hour', '1 小时后'],
  [3_672_001, 'in 62 minutes', '62 分钟后'],
  [7_100_000, 'in 119 minutes', '119 分钟后'],
  [7_199_000, 'in 2 hours', '2 小时后'],
  [7_200_001, 'in 2 hours', '2 小时后'],
  [7_300_000, 'in 3 hours', '3 小时后'],
  [90_000_000, 'in 25 hours', '25 小时后'],
  [-3_660_000, '1 hour ago', '1 小时前'],
  [-3 * 60_000, '3 minutes ago', '3 分钟前'],
  [-3.9 * 60_000, '3 minutes ago', '3 分钟前'],
  [500, 'now', '现在'],
  [2000, 'in 2 seconds', '2 秒钟后'],
  [0, 'now', '现在'],
])('%i ms from now is %s', (ms, english, chinese) => {
  expect(format.formatRelative('en', ms)).toBe(english)
  expect(format.formatRelative('zh', ms)).toBe(chinese)
})

test.each([
  // On a Sunday at 02:35.
  ['2026-11-30T03:00', 'in 25 hours', '25 小时后'],
  ['2026-12-01T03:00', 'in 2 days', '后天'],
  ['2026-12-01T14:35', 'in 2 days', '后天'],
  ['2026-12-04T02:00', 'in 5 days', '5 天后'],
  ['2026-11-28T02:30', 'yesterday', '昨天'],
  ['2026-11-27T03:20', '2 days ago', '前天'],
  ['2026-11-26T23:59', '3 days ago', '3 天前'],
])('a day away is counted by the calendar: %s is %s', (at, english, chinese) => {
  const now = Date.parse('2026-11-29T02:35')
  const ms = Date.parse(at) - now
  expect(format.formatRelative('en', ms, now)).toBe(english)
  expect(format.formatRelative('zh', ms, now)).toBe(chinese)
})

test('a time to the minute has the weekday if it is on another day', () => {
  const now = new Date(2026, 10, 27, 22, 10)
  expect(format.formatMinute('en', new Date(2026, 10, 27, 23, 5), now)).toBe('23:05')
  expect(format.formatMinute('en', new Date(2026, 10, 28, 0, 5), now)).toBe('Sat 00:05')
  expect(format.formatMinute('zh', new Date(2026, 10, 28, 0, 5), now)).toMatch(/^周六\s?00:05$/)
})
