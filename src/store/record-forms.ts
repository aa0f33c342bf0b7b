import type { Happening } from '../alerts/alert.ts'
import { ALERT_SCOPES, type AlertScope } from '../alerts/alert-kinds.ts'
import { isCount, isFlag, isNumber, isText, isTime, listOf, oneOf, optional, orNull, shapeOf } from '../lib/shape.ts'
import { factsOf, type Membership } from '../quota/memberships.ts'
import type { Named } from '../quota/payer.ts'
import { isPeriodDay } from '../quota/period-days.ts'
import type { Episode } from '../usage/episodes.ts'
import { type SeriesCounts, unpackCounts } from '../usage/series.ts'

/** The forms of records that both stores share. Each function returns `null` for a record of another form. */

const isEpisode = shapeOf({
  user: orNull(isText),
  plan: orNull(isText),
  organisation: orNull(isText),
  periodDay: optional(isPeriodDay),
  category: isText,
  scope: isText,
  window: isText,
  startedAt: orNull(isTime),
  first: isTime,
  last: isTime,
  count: isCount,
  routes: listOf(isText),
  limit: isNumber,
  used: isNumber,
  source: isText,
  cost: optional(isNumber),
  shadow: optional(isFlag),
})

const isHappening = shapeOf({
  ...{ alert: isText, scope: oneOf(ALERT_SCOPES), subject: orNull(isText) },
  ...{ category: orNull(isText), window: orNull(isText), threshold: isNumber, used: isNumber, limit: isNumber },
  ...{ at: isTime, startedAt: isTime, endsAt: isTime },
})

const isNamed = shapeOf({ plan: orNull(isText), periodDay: optional(orNull(isPeriodDay)) })
const isMembership = shapeOf({
  plan: orNull(isText),
  organisation: orNull(isText),
  periodDay: optional(orNull(isPeriodDay)),
})

const COUNTS = /^(-?\d{1,16}( -?\d{1,16})*)?$/

/** @param text JSON */
export function episodeOf(text: string, id: string): Episode | null {
  const value: unknown = JSON.parse(text)
  return isEpisode(value) ? { ...(value as Episode), id } : null
}

/** @param text JSON */
export function happeningOf(text: string): Happening<AlertScope> | null {
  const value: unknown = JSON.parse(text)
  return isHappening(value) ? (value as Happening<AlertScope>) : null
}

export function membershipOf(value: unknown): Membership | null {
  if (!isMembership(value)) return null
  const { plan, organisation, periodDay } = value as WithNull<Membership>
  return factsOf({ plan, organisation, ...(periodDay != null && { periodDay }) })
}

export function namedOf(value: unknown): Named | null {
  if (!isNamed(value)) return null
  const { plan, periodDay } = value as WithNull<Named>
  return { plan, ...(periodDay != null && { periodDay }) }
}

/** A row of a table has every column, even without a value. */
type WithNull<T> = Omit<T, 'periodDay'> & { readonly periodDay?: number | null }

/** @param text as `packCounts` writes it */
export function countsOf(text: string): SeriesCounts | null {
  return typeof text === 'string' && COUNTS.test(text) ? unpackCounts(text) : null
}
