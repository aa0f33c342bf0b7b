/** Rows of cells as lines of a text, in which each column is as wide as its widest cell. */
export function inColumns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length)
  const wide = (cell: string, i: number) => cell.padEnd(widths[i] ?? 0)
  return rows.map((row) => row.map(wide).join('  ').trimEnd())
}
