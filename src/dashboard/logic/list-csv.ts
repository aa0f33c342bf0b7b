import { csvRow } from '../../lib/csv.ts'

/** The rows of a list of users, or of organisations, as a file. Pure. */

export interface CsvLine {
  readonly id: string
  readonly plan?: string | undefined
  readonly override: unknown
  readonly blocked: boolean
  readonly tokens: number
}

/** As the address of a link: what is shown needs no question to the gateway. */
export function csvHref(kind: 'users' | 'organisations', lines: readonly CsvLine[]): string {
  return hrefOf(csvOf(kind, lines))
}

/** The same of any table. */
export function tableHref(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return hrefOf(fileOf([head, ...rows]))
}

function hrefOf(csv: string): string {
  return `data:text/csv;charset=utf-8,${encodeURIComponent(csv)}`
}

function fileOf(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => `${csvRow(row)}\r\n`).join('')
}

/** The first line is the head. No text of it is a formula to a spreadsheet. */
export function csvOf(kind: 'users' | 'organisations', lines: readonly CsvLine[]): string {
  const head = [kind === 'users' ? 'user' : 'organisation', 'plan', 'override', 'blocked', 'tokens']
  const rows = lines.map(({ id, plan = '', override, blocked, tokens }) => [
    id,
    plan,
    String(override !== null),
    String(blocked),
    tokens,
  ])
  return fileOf([head, ...rows])
}
