const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const CLF_TIME = /^(\d{2})\/([A-Z][a-z]{2})\/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})$/

/** @param text as Apache writes a moment: `10/Oct/2026:13:55:36 +0000`. @returns milliseconds since the epoch, or `null` */
export function clfTime(text: string): number | null {
  const found = CLF_TIME.exec(text)
  const month = MONTHS.indexOf(found?.[2] ?? '')
  if (found === null || month < 0) return null
  const [day, year, hour, minute, second, offsetHours, offsetMinutes] = [1, 3, 4, 5, 6, 8, 9].map((i) =>
    Number(found[i]),
  )
  const local = Date.UTC(year as number, month, day, hour, minute, second)
  const offsetMs = ((offsetHours as number) * 60 + (offsetMinutes as number)) * 60_000
  return found[7] === '+' ? local - offsetMs : local + offsetMs
}

/** A moment as Apache writes it, in UTC. @param at milliseconds since the epoch */
export function clfTimeOf(at: number): string {
  const date = new Date(at)
  const [day, time] = date.toISOString().slice(0, 19).split('T') as [string, string]
  return `${day.slice(8)}/${MONTHS[date.getUTCMonth()]}/${day.slice(0, 4)}:${time} +0000`
}
