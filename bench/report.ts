import { readFileSync, writeFileSync } from 'node:fs'
import { type Figure, isMet, median } from './figures.ts'
import type { LatencyRounds } from './latency.ts'
import type { Row, Sample } from './rows.ts'

export interface Results {
  readonly machine: readonly string[]
  readonly rounds: number
  readonly seconds: number
  readonly samples: ReadonlyMap<Row, readonly Sample[]>
  readonly latency: LatencyRounds
  readonly figures: readonly Figure[]
}

/** Everything that was measured, as Markdown that a terminal shows as well. */
export function report({ machine, rounds, seconds, samples, latency, figures }: Results): string {
  return [
    ...machine.map((line) => `- ${line}`),
    `- ${rounds} rounds of ${seconds} s for each row; medians; smallest and largest value in brackets`,
    '',
    'CPU for one request, in microseconds:',
    '',
    ...table(
      ['Row', 'Access log', 'Requests/s', 'Proxy', 'Redis', 'Together'],
      [...samples].map(([row, list]) => cpuCells(row, list)),
    ),
    '',
    `Latency at ${Math.round(latency.rate)} requests/s, in milliseconds:`,
    '',
    ...table(
      ['Row', 'p50', 'p99'],
      [
        ['backend alone', ...latencyCells(latency.direct)],
        ['through the gateway, charged', ...latencyCells(latency.gateway)],
      ],
    ),
    '',
    'Targets:',
    '',
    ...table(['Figure', 'Measured', 'Target', ''], figures.map(figureCells)),
    ...notes(samples, latency),
  ].join('\n')
}

function cpuCells({ name, log }: Row, samples: readonly Sample[]): string[] {
  const of = (pick: (sample: Sample) => number): number => median(samples.map(pick))
  return [
    name,
    log ? 'on' : 'off',
    of(({ rate }) => rate).toFixed(0),
    of(({ proxy }) => proxy).toFixed(1),
    of(({ redis }) => redis).toFixed(1),
    spread(
      samples.map(({ total }) => total),
      1,
    ),
  ]
}

function latencyCells(list: LatencyRounds['direct']): string[] {
  return [list.map(({ p50 }) => p50), list.map(({ p99 }) => p99)].map((values) => spread(values, 2))
}

const UNITS = { x: ' x', us: ' us', ms: ' ms', bytes: ' bytes' } as const
const DIGITS = { x: 2, us: 1, ms: 2, bytes: 0 } as const

function figureCells(figure: Figure): string[] {
  const { name, unit, values, target } = figure
  const wanted = 'atMost' in target ? `at most ${target.atMost}` : `below ${target.below}`
  return [name, spread(values, DIGITS[unit], UNITS[unit]), wanted + UNITS[unit], isMet(figure) ? 'met' : 'not met']
}

function spread(values: readonly number[], digits: number, unit = ''): string {
  const middle = median(values).toFixed(digits) + unit
  if (values.length < 2) return middle
  return `${middle} (${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)})`
}

function notes(samples: Results['samples'], { direct, gateway }: LatencyRounds): string[] {
  const wrong = [...samples].map(([{ name }, list]) => ({ name, count: list.reduce((n, s) => n + s.unexpected, 0) }))
  const failed = [...direct, ...gateway].reduce((sum, round) => sum + round.failed, 0)
  const lines = wrong.filter(({ count }) => count > 0).map(({ name, count }) => `${name}: ${count} unexpected answers`)
  if (failed > 0) lines.push(`latency: ${failed} requests were not answered with 200`)
  return lines.length > 0 ? ['', ...lines] : []
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, i) => Math.max(3, title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)]
}

const BEGIN = '<!-- made by "npm run bench -- --write": begin -->'
const END = '<!-- made by "npm run bench -- --write": end -->'

/** Puts the report between the markers of a document. */
export function writeInto(file: URL, text: string): void {
  const document = readFileSync(file, 'utf8')
  const [before, rest] = document.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined) throw new Error(`${file.pathname} has lost its markers`)
  writeFileSync(file, `${before}${BEGIN}\n\n${text}\n\n${END}${after}`)
}
