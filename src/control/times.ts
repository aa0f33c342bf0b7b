/** A time in the form of RFC 3339 and of the admin API's schema, with seconds and an offset. */
const TIME = /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/
/** The first moment whose year has five digits. A text with an offset may mean a later moment than can be written again. */
const YEAR_10000 = Date.UTC(10_000, 0)

/** Milliseconds since the epoch; `NaN` for no time. `Date.parse` accepts more, and takes 30 February for 2 March. */
export function timeOf(text: string): number {
  const [, year, month, day] = TIME.exec(text) ?? []
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  const at = Number(day) <= lastDay ? Date.parse(text) : Number.NaN
  return at < YEAR_10000 ? at : Number.NaN
}
