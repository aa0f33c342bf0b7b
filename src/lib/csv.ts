/** CSV (RFC 4180), one row on each line: no value here has a line break. */

/**
 * The beginning of a cell that a spreadsheet takes for a formula, also in full-width letters, after blanks or after apostrophes. One
 * more apostrophe makes it a text, and `rowOf` removes that again, so that every text comes back unchanged.
 */
const FORMULA = /^'*(?:[\s\p{Cc}]*[=+\-@＝＋－＠]|[\t\r\n])/u
const ESCAPED_FORMULA = new RegExp(FORMULA.source.replace("^'*", "^''*"), 'u')
const TO_QUOTE = /[",;]|[^\S ]|^ | $/

/** A cell of a file that a spreadsheet can open without running anything. A number stays a number, also below 0. */
export function csvCell(value: string | number): string {
  const text = String(value)
  const safe = typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text
  return TO_QUOTE.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function csvRow(values: readonly (string | number)[]): string {
  return values.map(csvCell).join(',')
}

/**
 * The cells of a line, in linear time.
 * @param most how many cells are read: for a line with more, one more cell than this is returned
 */
export function rowOf(
  line: string,
  most: number,
): { readonly cells: readonly string[] } | { readonly problem: string } {
  const cells: string[] = []
  for (let at = 0; cells.length <= most; ) {
    const next = line[at] === '"' ? quotedCell(line, at) : plainCell(line, at)
    if ('problem' in next) return next
    cells.push(ESCAPED_FORMULA.test(next.text) ? next.text.slice(1) : next.text)
    if (next.end >= line.length) break
    at = next.end + 1
  }
  return { cells }
}

/** The text of a cell and the position of the comma after it, or what is wrong and how to mend it. */
type Cell = { readonly text: string; readonly end: number } | { readonly problem: string }

function plainCell(line: string, at: number): Cell {
  const comma = line.indexOf(',', at)
  const end = comma === -1 ? line.length : comma
  const text = line.slice(at, end)
  if (text.includes('"'))
    return { problem: `column ${at + 1}: has a quote in a cell that begins without one: put the cell in quotes` }
  return { text, end }
}

function quotedCell(line: string, at: number): Cell {
  const parts: string[] = []
  for (let from = at + 1; ; ) {
    const quote = line.indexOf('"', from)
    if (quote === -1)
      return { problem: `column ${at + 1}: a quote is not closed on its line: close it, a value has no line break` }
    parts.push(line.slice(from, quote))
    if (line[quote + 1] === '"') {
      parts.push('"')
      from = quote + 2
    } else if (quote + 1 === line.length || line[quote + 1] === ',') return { text: parts.join(''), end: quote + 1 }
    else return { problem: `column ${quote + 2}: behind a closed quote comes a comma, or the end of the line` }
  }
}
