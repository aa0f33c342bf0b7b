import { csvRow } from '../../lib/csv.ts'

/** The rows of a table as a file in the address of a link, so that the gateway is not asked again. Pure. */

/** The first line is the head. No cell is a formula for a spreadsheet. */
export function tableHref(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const csv = [head, ...rows].map((row) => `${csvRow(row)}\r\n`).join('')
  return `data:text/csv;charset=utf-8,${encodeURIComponent(csv)}`
}
