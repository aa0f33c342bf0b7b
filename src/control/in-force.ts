import { isObject } from '../lib/json.ts'
import { type ControlState, UNCHANGED, type UserOverride } from './state.ts'

/** What is in force of a stored state. */
export interface InForce {
  readonly state: ControlState
  readonly from: ControlState
  /** The store's time at which the last of those left out expired: a clock that is set back before it brings them back. */
  readonly since: number
  /** The store's time at which the next override expires. */
  readonly until: number
}

const NEVER = Number.NEGATIVE_INFINITY

export const NOTHING_CHANGED: InForce = {
  state: UNCHANGED,
  from: UNCHANGED,
  since: NEVER,
  until: Number.POSITIVE_INFINITY,
}

/** The state without what has expired; if nothing is new, what there was before. */
export function inForce(stored: ControlState, last: InForce, at: number): InForce {
  const isCurrent = at >= last.since && at < last.until
  if (isCurrent && stored === last.from) return last
  if (isCurrent && stored.overrides === last.from.overrides) {
    return { state: { ...stored, overrides: last.state.overrides }, from: stored, since: last.since, until: last.until }
  }
  const known = [...stored.overrides].filter(([, { value }]) => isOverride(value))
  const isOver = ({ expiresAt }: UserOverride): boolean => expiresAt !== null && expiresAt <= at
  const rest = known.filter(([, { value }]) => !isOver(value))
  const isWhole = rest.length === stored.overrides.size
  return {
    state: isWhole ? stored : { ...stored, overrides: new Map(rest) },
    from: stored,
    since: known.reduce(
      (last, [, { value }]) => (isOver(value) ? Math.max(last, value.expiresAt ?? last) : last),
      NEVER,
    ),
    until: rest.reduce((first, [, { value }]) => Math.min(first, value.expiresAt ?? first), Number.POSITIVE_INFINITY),
  }
}

/** One value that others wrote to the store must not keep every replica from following all the rest. */
function isOverride(value: unknown): value is UserOverride {
  if (!isObject(value)) return false
  const { limits, expiresAt } = value
  return isObject(limits) && Object.values(limits).every(isObject) && (expiresAt === null || Number.isFinite(expiresAt))
}
