import { sameJson } from '../lib/json.ts'
import type { AuditEntry, Change } from './control-store.ts'
import { isAlias } from './forgetting.ts'
import { leavesBetween, patchBack, standing, valueAt } from './leaves.ts'
import { patched } from './pending.ts'
import type { Changes, ControlState, OrganisationOverride, UserOverride, Versioned } from './state.ts'

/** What becomes of the wish to undo a change. */
export type Undo =
  /** `null` if all is as it was before the change already. */
  | { readonly kind: 'possible'; readonly change: Change | null }
  /** Somebody has set these values since. */
  | { readonly kind: 'changed_since'; readonly values: readonly ChangedValue[] }
  /** A sentence says why it never can be. */
  | { readonly kind: 'impossible'; readonly why: string }

/** A value that is not as the change left it. */
export interface ChangedValue {
  /** Dotted, as in the settings; empty for an override as a whole. */
  readonly path: string
  /** What the change set, and what is there now; `null` follows the file, or is no override. */
  readonly set: unknown
  readonly now: unknown
}

/**
 * What puts back what a change replaced: of settings the values that it set, of an override the whole of it. What is already
 * as it was before needs nothing.
 * @param state without overrides that have expired
 * @param at the store's time, in milliseconds since the epoch
 */
export function undoOf(entry: AuditEntry, state: ControlState, at: number): Undo {
  if (entry.what === 'settings') return undoOfSettings(entry, state.settings.value)
  const id = entry.subject ?? ''
  if (entry.what === 'override' && isAlias(id)) return { kind: 'impossible', why: REASONS.user_forgotten }
  if (entry.what === 'override') {
    return undoOfOverride(entry, state.overrides.get(id), at, (to) => ({ kind: 'override', user: id, to }))
  }
  if (entry.what === 'organisation_override') {
    const changeTo = (to: OrganisationOverride | null) => ({ kind: entry.what, organisation: id, to }) as Change
    return undoOfOverride(entry, state.organisationOverrides.get(id), at, changeTo)
  }
  return { kind: 'impossible', why: REASONS[entry.what as keyof typeof REASONS] ?? UNKNOWN }
}

const REASONS = {
  overrides: 'the audit keeps a sample of them: put the file of before in force again by PUT /api/overrides',
  reset: 'what a user had used is not kept: set an override for that user instead',
  quota_reset: 'charges have been added to the windows since: raise their limits, or reset them again',
  token_created: 'a gateway token is given out once: revoke it by DELETE /api/tokens/{id}',
  user_forgotten: 'nothing is kept of a user who was forgotten: set what is needed anew',
  token_revoked: 'nobody has the token itself: make a new one by POST /api/tokens',
}

const UNKNOWN = 'this version of Tollgate does not know such a change: ask a gateway of the version that made it'

const ONLY_PENDING =
  'it set no value, but what is scheduled or guarded: DELETE /api/quota/scheduled/{id} cancels what GET /api/quota lists'

function undoOfSettings({ from, to }: AuditEntry, now: Changes): Undo {
  const [before, after] = [(from ?? {}) as Changes, (to ?? {}) as Changes]
  const leaves = leavesBetween(before, after)
  if (leaves.length === 0 && !sameJson(before, after)) return { kind: 'impossible', why: ONLY_PENDING }
  const open = leaves.filter(({ path, from }) => !sameJson(valueAt(now, path), from))
  const still = standing(now, open)
  if (still.length < open.length) {
    const values = open
      .filter((leaf) => !still.includes(leaf))
      .map(({ path, to }) => ({ path: path.join('.'), set: to, now: valueAt(now, path) }))
    return { kind: 'changed_since', values }
  }
  return {
    kind: 'possible',
    change: open.length === 0 ? null : { kind: 'settings', to: patched(now, patchBack(open)) },
  }
}

/** One that has ended by itself counts as none. */
function undoOfOverride<T extends Ending>(
  { from, to }: AuditEntry,
  now: Versioned<T> | undefined,
  at: number,
  changeTo: (override: T | null) => Change,
): Undo {
  const [before, set] = [lasting<T>(from, at), lasting<T>(to, at)]
  const value = now?.value ?? null
  if (sameJson(value, before)) return { kind: 'possible', change: null }
  if (!sameJson(value, set)) return { kind: 'changed_since', values: [{ path: '', set, now: value }] }
  return { kind: 'possible', change: changeTo(before) }
}

type Ending = UserOverride | OrganisationOverride

function lasting<T extends Ending>(value: unknown, at: number): T | null {
  const override = value as T | null
  return override === null || (override.expiresAt !== null && override.expiresAt <= at) ? null : override
}
