import { csvRow } from '../../lib/csv.ts'

/** The rows of a table as a file, as the address of a link: what is shown needs no question to the gateway. Pure. */

/** The first line is the head. No text of it is a formula to a spreadsheet. */
export function tableHref(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const csv = [head, ...rows].map((row) => `${csvRow(row)}\r\n`).join('')
  return `data:text/csv;charset=utf-8,${encodeURIComponent(csv)}`
}
