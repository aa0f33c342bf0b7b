import { isObject } from '../lib/json.ts'
import { type ControlState, type OrganisationOverride, UNCHANGED, type UserOverride, type Versioned } from './state.ts'

/** What is in force of a stored state. */
export interface InForce {
  readonly state: ControlState
  readonly from: ControlState
  readonly users: Lasting<UserOverride>
  readonly organisations: Lasting<OrganisationOverride>
}

/** What lasts of overrides. */
interface Lasting<T extends Ending> {
  readonly overrides: Stored<T>
  /** All of them, as they are stored. */
  readonly from: Stored<T>
  /** The store's time at which the last of those left out expired: a clock that is set back before it brings them back. */
  readonly since: number
  /** The store's time at which the next override expires. */
  readonly until: number
}

type Stored<T> = ReadonlyMap<string, Versioned<T>>
type Ending = Pick<UserOverride, 'limits' | 'expiresAt'>

const NEVER = Number.NEGATIVE_INFINITY

export const NOTHING_CHANGED: InForce = {
  state: UNCHANGED,
  from: UNCHANGED,
  users: untilAnyEnd(UNCHANGED.overrides),
  organisations: untilAnyEnd(UNCHANGED.organisationOverrides),
}

function untilAnyEnd<T extends Ending>(overrides: Stored<T>): Lasting<T> {
  return { overrides, from: overrides, since: NEVER, until: Number.POSITIVE_INFINITY }
}

/** The state without what has expired; if nothing is new, what there was before. */
export function inForce(stored: ControlState, last: InForce, at: number): InForce {
  const users = lasting(stored.overrides, last.users, at)
  const organisations = lasting(stored.organisationOverrides, last.organisations, at)
  if (stored === last.from && users === last.users && organisations === last.organisations) return last
  const isWhole = users.overrides === users.from && organisations.overrides === organisations.from
  const state = { ...stored, overrides: users.overrides, organisationOverrides: organisations.overrides }
  return { state: isWhole ? stored : state, from: stored, users, organisations }
}

function lasting<T extends Ending>(stored: Stored<T>, last: Lasting<T>, at: number): Lasting<T> {
  if (stored === last.from && at >= last.since && at < last.until) return last
  const known = [...stored].filter(([, { value }]) => isOverride(value))
  const isOver = ({ expiresAt }: Ending): boolean => expiresAt !== null && expiresAt <= at
  const rest = known.filter(([, { value }]) => !isOver(value))
  return {
    overrides: rest.length === stored.size ? stored : new Map(rest),
    from: stored,
    since: known.reduce(
      (last, [, { value }]) => (isOver(value) ? Math.max(last, value.expiresAt ?? last) : last),
      NEVER,
    ),
    until: rest.reduce((first, [, { value }]) => Math.min(first, value.expiresAt ?? first), Number.POSITIVE_INFINITY),
  }
}

/** One value that others wrote to the store must not keep every replica from following all the rest. */
function isOverride(value: unknown): value is Ending {
  if (!isObject(value)) return false
  const { limits, expiresAt } = value
  return isObject(limits) && Object.values(limits).every(isObject) && (expiresAt === null || Number.isFinite(expiresAt))
}
