import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDuration, formatSize, parseDuration, parsePercentage, parseSize } from '../../src/config/units.ts'

const amounts = fc.oneof(
  fc.nat(),
  fc
    .tuple(fc.nat(900), fc.constantFrom(1, 1000, 1024, 60_000, 3_600_000, 86_400_000, 2 ** 20, 1e6, 2 ** 30))
    .map(([n, unit]) => n * unit),
)

test('durations are read in milliseconds', () => {
  const read = ['0s', '250ms', '2s', '5m', '1h', '5h', '1d'].map((text) => parseDuration(text))
  expect(read).toEqual([0, 250, 2000, 300_000, 3_600_000, 18_000_000, 86_400_000].map((value) => ({ value })))
})

test('durations are written so that they are read again as the same', () => {
  fc.assert(fc.property(amounts, (ms) => void expect(parseDuration(formatDuration(ms))).toEqual({ value: ms })))
  expect([90_000, 60_000, 86_400_000, 1].map(formatDuration)).toEqual(['90s', '1m', '1d', '1ms'])
}, 60_000)

test.each([
  '',
  '5',
  's',
  '1.5s',
  '-1s',
  '1 s',
  ' 1s',
  '1s ',
  '1S',
  '1h30m',
  '1e3s',
  '٣s',
  '1s\n',
  `${'9'.repeat(13)}s`,
])('durations refuse %j', (text) => expect(parseDuration(text)).toHaveProperty('problem'))

test('sizes are read in bytes: KB is 1000, KiB is 1024', () => {
  const read = ['0B', '64KB', '64KiB', '1MB', '1MiB', '1GB', '1GiB'].map((text) => parseSize(text))
  expect(read).toEqual(
    [0, 64_000, 65_536, 1_000_000, 1_048_576, 1_000_000_000, 1_073_741_824].map((value) => ({ value })),
  )
})

test('sizes are written so that they are read again as the same', () => {
  fc.assert(fc.property(amounts, (bytes) => void expect(parseSize(formatSize(bytes))).toEqual({ value: bytes })))
  expect([65_536, 64_000, 1025].map(formatSize)).toEqual(['64KiB', '64KB', '1025B'])
}, 60_000)

test.each(['', '5', 'KB', '1kb', '1K', '1.5MiB', '-1B', '1 KB'])('sizes refuse %j', (text) => {
  expect(parseSize(text)).toHaveProperty('problem')
})

test('percentages are read as a share', () => {
  expect(['10%', '100%', '0.5%'].map(parsePercentage)).toEqual([{ value: 0.1 }, { value: 1 }, { value: 0.005 }])
})

test.each(['', '10', '0%', '100.1%', '-1%', '1e1%', '%', '10 %'])('percentages refuse %j', (text) => {
  expect(parsePercentage(text)).toHaveProperty('problem')
})
