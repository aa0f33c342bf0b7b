import { OVERRIDES, SETTINGS } from './forms.ts'
import { isLive } from './grants.ts'
import { type Form, leavesInForce, stackOf } from './layers.ts'
import {
  type Changes,
  type ControlState,
  type GivenGrant,
  type OrganisationOverride,
  type Packed,
  type StoredControl,
  UNCHANGED,
  type UserOverride,
  type Versioned,
} from './state.ts'

/** The part of a stored state that is in force. */
export interface InForce {
  readonly state: ControlState
  readonly from: StoredControl
  readonly settings: Standing<Changes>
  readonly users: Living<UserOverride>
  readonly organisations: Living<OrganisationOverride>
  readonly grants: LiveGrants
}

/** How long a result is valid. A clock that is set back before `since` makes another one valid. */
interface Span {
  /** The store's time when the last layer began or ended, and when the next one will. */
  readonly since: number
  readonly until: number
}

interface Standing<T> extends Span {
  readonly value: Versioned<T>
  readonly from: Versioned<Packed<T>>
}

/** The overrides in force. */
interface Living<T> extends Span {
  readonly overrides: ReadonlyMap<string, Versioned<T>>
  readonly from: Stored<T>
}

/** The grants that pay. */
interface LiveGrants extends Span {
  readonly live: ControlState['grants']
  readonly from: StoredControl['grants']
}

type Stored<T> = ReadonlyMap<string, Versioned<Packed<T>>>

const ALWAYS: Span = { since: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY }

export const NOTHING_CHANGED: InForce = {
  state: UNCHANGED,
  from: UNCHANGED,
  settings: { ...ALWAYS, value: UNCHANGED.settings, from: UNCHANGED.settings },
  users: { ...ALWAYS, overrides: UNCHANGED.overrides, from: UNCHANGED.overrides },
  organisations: {
    ...ALWAYS,
    overrides: UNCHANGED.organisationOverrides,
    from: UNCHANGED.organisationOverrides,
  },
  grants: { ...ALWAYS, live: UNCHANGED.grants, from: UNCHANGED.grants },
}

/** What is in force at a moment; the same objects as before if nothing is new. */
export function inForce(stored: StoredControl, last: InForce, at: number): InForce {
  const settings = standing(stored.settings, last.settings, at)
  const users = living(stored.overrides, last.users, at)
  const organisations = living(stored.organisationOverrides, last.organisations, at)
  const grants = liveGrants(stored.grants, last.grants, at)
  const areOld = users === last.users && organisations === last.organisations && grants === last.grants
  if (stored === last.from && settings === last.settings && areOld) return last
  const parts = {
    settings: settings.value,
    overrides: users.overrides,
    organisationOverrides: organisations.overrides,
    grants: grants.live,
  }
  const isWhole =
    parts.settings === stored.settings &&
    parts.overrides === stored.overrides &&
    parts.organisationOverrides === stored.organisationOverrides &&
    parts.grants === stored.grants
  const state: ControlState = isWhole ? (stored as ControlState) : { ...stored, ...parts, stored }
  return { state, from: stored, settings, users, organisations, grants }
}

function standing(stored: Versioned<Packed<Changes>>, last: Standing<Changes>, at: number): Standing<Changes> {
  if (stored === last.from && holds(last, at)) return last
  const read = readAt<Changes>(SETTINGS, stored.value, at)
  const isWhole = read.value === stored.value
  const value = isWhole ? (stored as Versioned<Changes>) : { version: stored.version, value: read.value ?? {} }
  return { since: read.since, until: read.until, value, from: stored }
}

function holds({ since, until }: Span, at: number): boolean {
  return at >= since && at < until
}

function living<T>(stored: Stored<T>, last: Living<T>, at: number): Living<T> {
  if (stored === last.from && holds(last, at)) return last
  let { since, until } = ALWAYS
  let isWhole = true
  const overrides = new Map<string, Versioned<T>>()
  for (const [id, record] of stored) {
    const read = readAt<T>(OVERRIDES, record.value, at)
    since = Math.max(since, read.since)
    until = Math.min(until, read.until)
    const isSame = read.value === record.value
    isWhole &&= isSame
    if (read.value !== null) {
      overrides.set(id, isSame ? (record as Versioned<T>) : { version: record.version, value: read.value })
    }
  }
  return { since, until, overrides: isWhole ? (stored as ReadonlyMap<string, Versioned<T>>) : overrides, from: stored }
}

function liveGrants(stored: StoredControl['grants'], last: LiveGrants, at: number): LiveGrants {
  if (stored === last.from && holds(last, at)) return last
  let { since, until } = ALWAYS
  const live = new Map<string, Versioned<GivenGrant>>()
  for (const [id, grant] of stored) {
    const { until: ends, endedAt } = grant.value
    if (endedAt === null && ends <= at) since = Math.max(since, ends)
    if (!isLive(grant.value, at)) continue
    until = Math.min(until, ends)
    live.set(id, grant)
  }
  return { since, until, live: live.size === stored.size ? stored : live, from: stored }
}

/** The value in force at a moment, and how long that holds. It is the stored object itself if all of it is in force; `null` for none. */
function readAt<T>(form: Form, packed: Packed<T>, at: number): Span & { readonly value: T | null } {
  const { layers, expiresAt = null } = packed as { readonly layers?: unknown; readonly expiresAt?: number | null }
  if (layers === undefined && expiresAt === null) return { ...ALWAYS, value: packed as T }
  const stack = stackOf(form, packed)
  const times = stack.layers.flatMap(({ from, until }) => (until === null ? [from] : [from, until]))
  const leaves = leavesInForce(form, stack, at)
  const isAlone = layers === undefined && leaves.length > 0
  return {
    since: Math.max(ALWAYS.since, ...times.filter((time) => time <= at)),
    until: Math.min(ALWAYS.until, ...times.filter((time) => time > at)),
    value: isAlone ? (packed as T) : leaves.length === 0 ? null : (form.valueOf(leaves) as T),
  }
}
