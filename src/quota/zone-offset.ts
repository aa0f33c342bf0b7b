/** How far the clock of a zone is ahead of UTC. */
export interface Offset {
  readonly ms: number
  /** `UTC+8`, `UTC-3:30`, `UTC`. */
  readonly name: string
}

/** Every clock change of the present and the future falls on a quarter of an hour in UTC. */
export const QUARTER_MS = 15 * 60_000
/** The quarters of an hour in five days, for one zone. */
const MAX_OFFSETS = 480

/**
 * By zone, the offsets that were asked for, by the quarter of an hour. They are remembered because a refusal needs three offsets, and the
 * formatter takes longer for one of them than the rest of the body takes.
 */
const zones = new Map<string, { readonly clock: Intl.DateTimeFormat; readonly offsets: Map<number, Offset> }>()

/** These two zones do not need `Intl`, which loads 7 MB at its first use. Shanghai has not changed its clock since 1991. */
const CONSTANT = new Map([
  ['UTC', { since: Number.NEGATIVE_INFINITY, offset: { ms: 0, name: 'UTC' } }],
  ['Asia/Shanghai', { since: Date.UTC(1992, 0, 1), offset: { ms: 8 * 3_600_000, name: 'UTC+8' } }],
])

export function offsetOf(moment: number, timeZone: string): Offset {
  const constant = CONSTANT.get(timeZone)
  if (constant !== undefined && moment >= constant.since) return constant.offset
  const { clock, offsets } = zones.get(timeZone) ?? addZone(timeZone)
  const quarter = Math.floor(moment / QUARTER_MS)
  let offset = offsets.get(quarter)
  if (offset === undefined) {
    offset = askFormatter(clock, quarter * QUARTER_MS)
    if (offsets.size >= MAX_OFFSETS) offsets.clear()
    offsets.set(quarter, offset)
  }
  return offset
}

/** Zones come from the configuration, so there are few of them. */
function addZone(timeZone: string) {
  const clock = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  const zone = { clock, offsets: new Map<number, Offset>() }
  zones.set(timeZone, zone)
  return zone
}

function askFormatter(clock: Intl.DateTimeFormat, moment: number): Offset {
  const name = clock.formatToParts(moment).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign = '+', hours = '00', minutes = '00'] = /([+-])(\d\d):(\d\d)/.exec(name) ?? []
  const ms = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1)
  if (ms === 0) return { ms, name: 'UTC' }
  return { ms, name: `UTC${sign}${Number(hours)}${minutes === '00' ? '' : `:${minutes}`}` }
}
