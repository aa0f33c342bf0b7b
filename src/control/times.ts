/** As RFC 3339 and the schema of the admin API have it: with seconds and an offset. */
const TIME = /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/
/** An offset may lead beyond the years that can be written so. */
const YEAR_10000 = Date.UTC(10_000, 0)

/** Milliseconds since the epoch; `NaN` for what is no time. `Date.parse` alone takes many more texts, and 30 February for 2 March. */
export function timeOf(text: string): number {
  const [, year, month, day] = TIME.exec(text) ?? []
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  const at = Number(day) <= lastDay ? Date.parse(text) : Number.NaN
  return at < YEAR_10000 ? at : Number.NaN
}
