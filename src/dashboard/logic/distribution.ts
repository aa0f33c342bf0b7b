import type { DistributionResponse, SettingsInForceResponse } from '../../contract/api.ts'
import { MODES, modeFactor } from '../../quota/limit-layers.ts'
import { MAX_LIMIT, multiplied } from '../../quota/multiplied.ts'
import { moved } from './series.ts'
import { type Draft, fieldOf, limitIn, type Place } from './settings.ts'

/** A limit as a line that can be moved over the distribution of users by their usage. */

/** The end of the axis, as a share of the limit in force. */
export const AXIS = 1.5

/** A limit of the form as a line over the users. */
export interface LimitLine {
  /** The path and the value, in tokens, of the field that the line sets. */
  readonly path: string
  readonly field: number
  /** The limit that the field makes under the mode of the form. */
  readonly limit: number
  /** The present limit from the settings, for everybody without a plan or an override. */
  readonly inForce: number
  /** The highest value of the field on the axis. */
  readonly max: number
  /** How far an arrow key moves the field: about a hundredth of the limit in force. */
  readonly step: number
}

const NO_DRAFT: Draft = {}

/** The line of a place; `null` if nothing limits the place, if its field has no limit yet, or if the factor of the mode is 0. */
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

/** The position of the line on the axis, 0 to 1. */
export function positionOf({ limit, inForce }: Pick<LimitLine, 'limit' | 'inForce'>): number {
  return Math.min(1, limit / (AXIS * inForce))
}

/** The value of the field at a position on the axis, 0 to 1. */
export function fieldAt({ max }: Pick<LimitLine, 'max'>, position: number): number {
  return Math.round(max * Math.min(1, Math.max(0, position)))
}

/** The value of the field after a key; `null` if a slider does not use the key. */
export function steppedField({ field, max, step }: LimitLine, key: string): number | null {
  return moved(key, field, { max, step, page: 10 * step })
}

/**
 * How many users have no room for the cheapest request under a limit, counted like the preview. It is exact up to 100 users, and else to a
 * hundredth.
 * @param found present usage, with percentiles: P of 100 users have used at most percentile P
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
