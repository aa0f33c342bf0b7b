import { readFileSync, writeFileSync } from 'node:fs'
import { type Figure, isMet } from './figures.ts'
import type { Row, Sample, Samples } from './rows.ts'
import { median } from './statistics.ts'

/** The result of one group of measurements. */
export interface Section {
  readonly title: string
  /** What was measured, and how. */
  readonly intro: string
  /** Markdown that a terminal can show as well. */
  readonly lines: readonly string[]
  /** Default none. */
  readonly figures?: readonly Figure[]
}

/** A run of some or all groups. */
export interface Report {
  /** The machine, its programs and the time of measurement. */
  readonly conditions: readonly string[]
  readonly sections: readonly Section[]
}

export function reportText({ conditions, sections }: Report): string {
  return [listOf(conditions), ...sections.map(sectionText)].join('\n\n')
}

const listOf = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n')

export function sectionText({ title, intro, lines, figures = [] }: Section): string {
  const checks = figures.length === 0 ? [] : table(['Figure', 'Measured', 'Bound', ''], figures.map(figureCells))
  const parts = [`### ${title}`, intro, lines.join('\n').trim(), checks.join('\n')]
  return parts.filter((part) => part !== '').join('\n\n')
}

export interface Column {
  readonly title: string
  readonly digits: number
  /** Whether the smallest and the largest value are shown too. Default no. */
  readonly spread?: boolean
  /** `null` leaves the cell empty. */
  of(sample: Sample, row: Row): number | null
}

export const RATE: Column = { title: 'Requests/s', digits: 0, of: ({ rate }) => rate }
export const PROXY: Column = { title: 'Proxy', digits: 1, of: ({ proxy }) => proxy }
export const REDIS: Column = { title: 'Redis', digits: 1, of: ({ redis }) => redis }
export const TOGETHER: Column = { title: 'Together', digits: 1, spread: true, of: ({ total }) => total }
export const P99: Column = { title: 'p99, ms', digits: 2, spread: true, of: ({ p99 }) => p99 }

/** A table of rows, with unexpected results below it. */
export function sampleTable(samples: Samples, columns: readonly Column[] = [RATE, PROXY, REDIS, TOGETHER]): string[] {
  const cells = ([row, list]: [Row, readonly Sample[]]): string[] => [
    row.name,
    ...columns.map(({ of, digits, spread }) => {
      const values = list.map((sample) => of(sample, row)).filter((value) => value !== null)
      if (values.length === 0) return ''
      return spread ? spreadOf(values, digits) : median(values).toFixed(digits)
    }),
  ]
  return [...table(['Row', ...columns.map(({ title }) => title)], [...samples].map(cells)), ...unexpected(samples)]
}

function unexpected(samples: Samples): string[] {
  const lines = [...samples]
    .map(([{ name }, list]) => ({ name, count: list.reduce((sum, sample) => sum + sample.unexpected, 0) }))
    .filter(({ count }) => count > 0)
    .map(({ name, count }) => `${name}: ${count} unexpected answers`)
  return lines.length > 0 ? ['', ...lines] : []
}

const UNITS = { x: ' x', us: ' us', ms: ' ms', bytes: ' bytes' } as const
const DIGITS = { x: 2, us: 1, ms: 2, bytes: 0 } as const

function figureCells(figure: Figure): string[] {
  const { name, unit, values, target } = figure
  const wanted = 'atMost' in target ? `at most ${target.atMost}` : `below ${target.below}`
  return [name, spreadOf(values, DIGITS[unit], UNITS[unit]), wanted + UNITS[unit], isMet(figure) ? 'met' : 'not met']
}

/** The median and, in brackets, the smallest and the largest. */
export function spreadOf(values: readonly number[], digits: number, unit = ''): string {
  const middle = median(values).toFixed(digits) + unit
  if (values.length < 2) return middle
  return `${middle} (${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)})`
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, i) => Math.max(3, title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)]
}

const BEGIN = '<!-- made by "npm run bench -- --write": begin -->'
const END = '<!-- made by "npm run bench -- --write": end -->'

/** Puts the report of a whole run between the markers of a document. */
export function writeReport(file: URL, report: Report): void {
  rewrite(file, () => reportText(report))
}

/** Replaces the sections of the same titles, or adds them at the end. Each has its own conditions. */
export function writeSections(file: URL, { conditions, sections }: Report): void {
  rewrite(file, (old) => {
    const parts = old.split(/\n\n(?=### )/)
    for (const section of sections) {
      const at = parts.findIndex((part) => part.startsWith(`### ${section.title}\n`))
      const apart = `Measured apart from the others:\n\n${listOf(conditions)}\n\n${section.intro}`
      parts[at === -1 ? parts.length : at] = sectionText({ ...section, intro: apart })
    }
    return parts.join('\n\n')
  })
}

function rewrite(file: URL, change: (old: string) => string): void {
  const document = readFileSync(file, 'utf8')
  const [before, rest] = document.split(BEGIN)
  const [old, after] = rest?.split(END) ?? []
  if (before === undefined || old === undefined || after === undefined) {
    throw new Error(`${file.pathname} has lost its markers`)
  }
  writeFileSync(file, `${before}${BEGIN}\n\n${change(old.trim())}\n\n${END}${after}`)
}
