import type { DistributionResponse, SettingsInForceResponse } from '../../contract/api.ts'
import { MODES, modeFactor } from '../../quota/limit-layers.ts'
import { MAX_LIMIT, multiplied } from '../../quota/multiplied.ts'
import { moved } from './series.ts'
import { type Draft, fieldOf, limitIn, type Place } from './settings.ts'

/** A limit that is dragged over the users below it. */

/** So far the axis goes, in shares of the limit in force. */
export const AXIS = 1.5

/** A limit of the form as a line over the users. */
export interface LimitLine {
  /** The field that the line sets, by its path, and its value in tokens. */
  readonly path: string
  readonly field: number
  /** What the field makes of it under the mode of the form. */
  readonly limit: number
  /** What the settings make of it now: the limit of everybody who has no other by a plan or an override. */
  readonly inForce: number
  /** The greatest value of the field within the axis. */
  readonly max: number
  /** A step by a key: about one in a hundred of the limit. */
  readonly step: number
}

const NO_DRAFT: Draft = {}

/** `null` if nothing limits the place, or its field has no limit yet. */
export function limitLine(quota: SettingsInForceResponse, draft: Draft, place: Place): LimitLine | null {
  const mode = draft.mode === null ? quota.file.mode : (draft.mode ?? quota.mode)
  const known = MODES.find((each) => each === mode) ?? quota.mode
  const factor = modeFactor(known, quota.adaptive.factor)
  const now = limitIn(quota, NO_DRAFT, fieldOf(quota.mode, place)) ?? limitIn(quota, NO_DRAFT, fieldOf('normal', place))
  const path = fieldOf(known, place)
  const field = limitIn(quota, draft, path) ?? limitIn(quota, draft, fieldOf('normal', place))
  const inForce = now === null ? 0 : multiplied(now, modeFactor(quota.mode, quota.adaptive.factor))
  if (inForce === 0 || field === null || factor <= 0) return null
  const max = Math.min(MAX_LIMIT, Math.max(1, Math.round((AXIS * inForce) / factor)))
  return {
    path,
    field,
    limit: multiplied(field, factor),
    inForce,
    max,
    step: Math.max(1, Math.round(max / 150)),
  }
}

/** Where the line stands on the axis, 0 to 1. */
export function positionOf({ limit, inForce }: Pick<LimitLine, 'limit' | 'inForce'>): number {
  return Math.min(1, limit / (AXIS * inForce))
}

/** The value of the field at a place on the axis, 0 to 1. */
export function fieldAt({ max }: Pick<LimitLine, 'max'>, position: number): number {
  return Math.round(max * Math.min(1, Math.max(0, position)))
}

/** The value that a key makes of the field; `null` for a key that is none of a slider's. */
export function steppedField({ field, max, step }: LimitLine, key: string): number | null {
  return moved(key, field, { max, step, page: 10 * step })
}

/**
 * How many have no room for the cheapest request under a limit, as the preview counts them: exact up to 100 users, else to one in a hundred.
 * @param found what is used now, of which percentile P is what P of 100 users have used at most
 * @param cost of that request
 */
export function usersFull(
  { counted, percentiles }: Pick<DistributionResponse, 'counted' | 'percentiles'>,
  limit: number,
  cost: number,
) {
  const below = percentiles.findLastIndex((tokens) => tokens + cost <= limit)
  return below < 0 ? counted : counted - Math.max(1, Math.ceil((below * counted) / 100))
}
