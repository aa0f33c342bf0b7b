import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** The figures of the README are those of docs/benchmarks.md. */
const README = readFileSync('README.md', 'utf8')
const BENCHMARKS = readFileSync('docs/benchmarks.md', 'utf8')

/** The cells of a row, by the name in its first one. */
function cellsOf(name: string, from: string): string[] {
  const rows = BENCHMARKS.slice(BENCHMARKS.indexOf(from)).split('\n')
  const row = rows.find((line) => line.replaceAll('*', '').startsWith(`| ${name} |`))
  return (
    row
      ?.replaceAll('*', '')
      .split('|')
      .slice(2, -1)
      .map((cell) => cell.trim()) ?? []
  )
}

/** CPU of the proxy and of Redis together. */
const sumOf = (cell: string): number =>
  (cell.split(';')[0] ?? '').split('+').reduce((sum, part) => sum + Number(part), 0)

test.each([
  ['Tollgate, charge, Redis', 'Tollgate takes 698, 325 and 183 µs'],
  ['nginx + Lua + Redis, charge', 'nginx + Lua + Redis takes 321, 201 and 159 µs'],
])('%s takes at everyday rates what the README says', (name, text) => {
  const [slow, medium, fast] = cellsOf(name, '## At everyday rates').map(sumOf)
  expect(text).toContain(`${slow}, ${medium} and ${fast} µs`)
  expect(README).toContain(text)
})

test('a charge takes at full load what the README says', () => {
  const together = (name: string): number => Math.round(Number(cellsOf(name, '## At saturation').at(-1)))
  const [own, peer] = ['Tollgate, charge, Redis', 'nginx + Lua + Redis, charge'].map(together)
  expect(README).toContain(`takes ${own} µs of CPU at full load, where nginx + Lua + Redis takes ${peer} µs`)
})
