import { expect, test } from 'vitest'
import { type AtRate, rateTables } from '../../bench/rates.ts'

type Result = AtRate['results'][number]

const server = { pid: 1, port: 1, stop: async () => {} }
const latency = { failed: 0, refused: 0, p50: 0.5, p90: 0.7, p99: 1.25, p999: 3, late99: 0 }

/** One round of a proxy that counts in Redis. */
const result = (change: { requests?: number; calls?: number | null; unexpected?: number }): Result => ({
  row: { name: 'a', server, redis: server, load: { port: 1, requests: '' } },
  samples: [
    {
      ...latency,
      requests: change.requests ?? 1000,
      proxy: 100,
      redis: 40,
      switches: { waited: 1.5, preempted: 0.2 },
      unexpected: change.unexpected ?? 0,
    },
  ],
  calls: change.calls === undefined ? 9 : change.calls,
})

const linesOf = (change: Parameters<typeof result>[0]): string[] =>
  rateTables([{ rate: 500, results: [result(change)] }])
const cellsOf = (lines: readonly string[]): string[] =>
  (lines.find((line) => line.startsWith('| a')) ?? '').split('|').map((cell) => cell.trim())

test('a row has CPU, latency, wake-ups and system calls of one request', () => {
  const lines = linesOf({})
  expect(lines[0]).toBe('500 requests/s:')
  expect(cellsOf(lines).slice(1, -1)).toEqual(['a', '100', '40', '140', '0.50', '1.25', '3.00', '1.5', '0.2', '9.0'])
})

test('a round of few requests has no p99.9', () => {
  expect(cellsOf(linesOf({ requests: 999 }))[7]).toBe('')
})

test('a row that cannot keep up says what share was lost', () => {
  expect(linesOf({ unexpected: 0.25 }).at(-1)).toMatch(/^a: 25\.0 % of the answers/)
})

test('where system calls cannot be counted one line says so', () => {
  expect(linesOf({ calls: null }).at(-1)).toMatch(/^System calls were not counted/)
})
