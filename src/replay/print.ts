import { inColumns } from '../lib/columns.ts'
import { counted } from '../lib/counted.ts'
import { csvRow } from '../lib/csv.ts'
import { shown } from '../lib/shown.ts'
import type { Logs } from './read-logs.ts'
import { mostRefused, type Report, type Tally } from './report.ts'
import { UNCHARGED, type UnchargedReason } from './tariffs.ts'

/** Prints a replay as text, JSON or CSV. */

export interface Printed {
  readonly logs: Logs
  readonly report: Report
  /** The most rows of users and of routes. */
  readonly top: number
}

export function asText({ logs, report, top }: Printed): string {
  const { total, users, routes, windows } = report
  return [
    ...linesRead(logs, report),
    '',
    `${total.refused} of ${total.requests} charged requests would have been refused (${percent(total.refused, total.requests)}), ${total.newlyRefused} of them were let through.`,
    `${total.spared} would have been let through that were refused.`,
    ...(total.shadowed > 0 ? [`${total.shadowed} more would have been refused, and are let through in shadow.`] : []),
    ...[...report.uncharged].map(([why, count]) => `${count} not charged: ${UNCHARGED[why]}.`),
    ...section(
      'By limit',
      [...windows].sort(([, a], [, b]) => b - a).map(([name, count]) => [name, `${count}`]),
    ),
    ...tallySection('User', users, top),
    ...tallySection('Route', routes, top),
  ].join('\n')
}

function linesRead({ lines, unreadable, examples, others, journal }: Logs, { from, to }: Report): string[] {
  const span = from === null || to === null ? '' : ` from ${moment(from)} to ${moment(to)}`
  const left = [...others].map(([why, count]) => `${counted(count, 'line')}: ${why}.`)
  const bad = examples.map(({ file, line, problem }) => `  ${file}:${line}: ${shown(problem)}`)
  const more = unreadable > examples.length ? [`  and ${unreadable - examples.length} more`] : []
  return [
    `${counted(lines, 'line')}, ${counted(journal.size, 'request')}${span}.`,
    ...left,
    ...(unreadable > 0 ? [`${counted(unreadable, 'line')} cannot be read:`, ...bad, ...more] : []),
  ]
}

function tallySection(title: string, tallies: ReadonlyMap<string, Tally>, top: number): string[] {
  const refused = mostRefused(tallies)
  const rows = refused
    .slice(0, top)
    .map(([name, tally]) => [
      shown(name),
      `${tally.refused} of ${tally.requests}`,
      `${tally.newlyRefused} new${tally.shadowed > 0 ? `, ${tally.shadowed} in shadow` : ''}`,
      tally.first === null
        ? ''
        : `first ${moment(tally.first.at)} by ${tally.first.scope} ${tally.first.category} ${tally.first.window} (${tally.first.limit})`,
    ])
  const rest = refused.length > top ? [[`and ${refused.length - top} more`]] : []
  return section(title, [...rows, ...rest])
}

function section(title: string, rows: readonly (readonly string[])[]): string[] {
  return rows.length === 0 ? [] : ['', title, ...inColumns(rows).map((line) => `  ${line}`)]
}

export function asJson({ logs, report, top }: Printed): string {
  const { lines, unreadable, examples, others } = logs
  const { total, users, routes, windows, uncharged, from, to } = report
  return JSON.stringify(
    {
      lines,
      requests: logs.journal.size,
      unreadable: { count: unreadable, examples },
      others: Object.fromEntries(others),
      from: from === null ? null : moment(from),
      to: to === null ? null : moment(to),
      total: counts(total),
      uncharged: Object.fromEntries(uncharged) as Partial<Record<UnchargedReason, number>>,
      limits: [...windows].map(([name, refused]) => ({ limit: name, refused })),
      users: mostRefused(users)
        .slice(0, top)
        .map(([user, tally]) => ({ user, ...counts(tally) })),
      routes: mostRefused(routes)
        .slice(0, top)
        .map(([route, tally]) => ({ route, ...counts(tally) })),
    },
    null,
    2,
  )
}

function counts({ first, ...rest }: Tally) {
  return { ...rest, first: first === null ? null : { ...first, at: moment(first.at) } }
}

const COLUMNS = [
  'user',
  'requests',
  'refused',
  'newlyRefused',
  'spared',
  'shadowed',
  'tokens',
  'firstRefusedAt',
  'scope',
  'category',
  'window',
  'limit',
]

/** The rows are users who would have been refused. */
export function asCsv({ report, top }: Printed): string {
  const rows = mostRefused(report.users)
    .slice(0, top)
    .map(([user, { requests, refused, newlyRefused, spared, shadowed, tokens, first }]) => [
      user,
      requests,
      refused,
      newlyRefused,
      spared,
      shadowed,
      tokens,
      first === null ? '' : moment(first.at),
      first?.scope ?? '',
      first?.category ?? '',
      first?.window ?? '',
      first?.limit ?? '',
    ])
  return [COLUMNS, ...rows].map((row) => csvRow(row.map(cellOf))).join('\n')
}

function cellOf(value: string | number): string | number {
  return typeof value === 'string' ? shown(value) : value
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${((part / whole) * 100).toFixed(2)} %`
}

export function moment(at: number): string {
  return new Date(at).toISOString()
}
