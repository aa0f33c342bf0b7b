import {
  AUDIT_BOUNDS,
  type Author,
  type Change,
  type GrantEnded,
  type GrantGiven,
  KINDS,
  type QuotaReset,
  REPLACED_MS,
  recordsIn,
  replacedBy,
  subjectOf,
} from '../../control/control-store.ts'
import { periodOf } from '../../quota/calendar.ts'
import { keptOf, NO_RETENTION, type Retention } from '../../quota/history.ts'
import { jsonOf, ownerText } from '../change-catch-up.ts'
import { historyRule } from './charge-batch.ts'
import type { Keys } from './keys.ts'

/**
 * A change in the form that control.lua reads.
 * @param now about the time of the store's clock, for periods of calendars
 * @param retention how long the runs of emptied windows are kept. Default: they are not kept
 * @param words the keys that control.lua changes, and the details. They are given for a user who is to be forgotten
 */
export function encodeChange(
  change: Change,
  { who, why, vain }: Author,
  expected: number | null,
  keys: Keys,
  bounds = AUDIT_BOUNDS,
  now = Date.now(),
  retention: Retention = NO_RETENTION,
  words: { readonly places: readonly string[]; readonly details: string } = {
    places: placeOf(change, keys),
    details: detailsOf(change, keys, retention, now),
  },
): { readonly names: readonly string[]; readonly args: readonly string[] } {
  const subject = subjectOf(change)
  const older = KINDS.map(keys.olderAudit)
  return {
    names: [keys.version, keys.audit, keys.forgotten, ...older, ...words.places],
    args: [
      change.kind,
      subject ?? '',
      JSON.stringify(subject),
      jsonOf(change),
      JSON.stringify(who),
      JSON.stringify(why) + (vain === undefined ? '' : `,"vain":${JSON.stringify(vain)}`),
      expectedBy(change, expected),
      String(bounds.newest),
      keys.changes,
      String(bounds.olderOfKind),
      KINDS.map((kind) => `${kind} `).join(''),
      words.details,
      String(REPLACED_MS),
    ],
  }
}

function expectedBy(change: Change, expected: number | null): string {
  if (change.kind === 'overrides') return String(change.base)
  return expected === null ? '' : String(expected)
}

function detailsOf(change: Change, keys: Keys, retention: Retention, now: number): string {
  if (change.kind === 'overrides') return `${change.count} ${change.organisations} ${JSON.stringify(change.from)}`
  if ('record' in change || 'records' in change) {
    const records = recordsIn(change)
    return JSON.stringify(records.map((it) => [it.hash, it.id, JSON.stringify(it), it === replacedBy(change)]))
  }
  return change.kind === 'grant' ? grantRule(change) : emptiedOf(change, keys, retention, now)
}

/** When control.lua must not give a grant, or how it ends one. */
function grantRule(change: GrantGiven | GrantEnded): string {
  if ('endedAt' in change) return JSON.stringify({ endedAt: String(change.endedAt) })
  return JSON.stringify({ owner: ownerText(change.to), most: change.most })
}

function placeOf(change: Change, keys: Keys): string[] {
  if (change.kind === 'settings') return [keys.settings]
  if (change.kind === 'overrides') {
    const { staged } = change
    return [
      ...[keys.overrides, keys.stagedOverrides(staged), keys.replacedOverrides],
      ...[keys.organisationOverrides, keys.stagedOrganisationOverrides(staged), keys.replacedOrganisationOverrides],
    ]
  }
  if (change.kind === 'override') return [keys.overrides]
  if (change.kind === 'organisation_override') return [keys.organisationOverrides]
  if (change.kind === 'grant') return [keys.grants]
  if (change.kind === 'reset' || change.kind === 'user_forgotten') return [keys.user(change.user)]
  if ('record' in change || 'records' in change) return [keys.tokens, keys.tokenIds]
  return [change.organisation === undefined ? keys.everybody(change.category) : keys.organisation(change.organisation)]
}

/** What control.lua empties, and for how long it keeps the runs. */
function emptiedOf(change: Change, keys: Keys, retention: Retention, now: number): string {
  if (change.kind === 'reset') {
    const kept = keptOf(retention, 'personal', change.user)
    return JSON.stringify({ history: kept === null ? [] : historyRule(keys, kept) })
  }
  if (change.kind !== 'quota_reset') return ''
  const kept = change.organisation === undefined ? null : keptOf(retention, 'organisation', change.organisation)
  return JSON.stringify({ ...windowsOf(change, now), history: kept === null ? [] : historyRule(keys, kept) })
}

function windowsOf({ category, all, windows }: QuotaReset, now: number) {
  const named = windows.map(({ seconds, name, calendar }) => {
    const period = calendar === undefined ? null : periodOf(calendar, now)
    return [seconds, JSON.stringify(name), ...(period === null ? [] : [period.from, period.to])]
  })
  return { category, all, windows: named }
}
