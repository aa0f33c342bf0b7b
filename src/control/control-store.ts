import { isObject } from '../lib/json.ts'
import type { Window } from '../quota/window.ts'
import type { AccessKeyRecord } from './access-key-store.ts'
import type {
  Changes,
  GivenGrant,
  LastChange,
  OrganisationOverride,
  Packed,
  StoredControl,
  UserOverride,
  Versioned,
} from './state.ts'
import type { Unfollowed } from './unfollowed.ts'

/** A change at run time. */
export type Change =
  | { readonly kind: 'settings'; readonly to: Packed<Changes> }
  | {
      readonly kind: 'override'
      readonly user: string /** `null` removes it. */
      readonly to: Packed<UserOverride> | null
    }
  | {
      readonly kind: 'organisation_override'
      readonly organisation: string
      /** `null` removes it. */ readonly to: Packed<OrganisationOverride> | null
    }
  | GrantGiven
  | GrantEnded
  /** Empties the user's windows. */
  | { readonly kind: 'reset'; readonly user: string }
  | QuotaReset
  | OverridesChange
  | AccessKeyChange
  | AccessKeysRevoked
  | AccessKeysImported
  | AccessKeyOpened
  | Forgetting

/**
 * A person is forgotten, so that nothing in the store names the user any more. Windows that run go on under a salted hash of the name,
 * because forgetting must not empty them. The audit gets another name in place of the user's.
 */
export interface Forgetting {
  readonly kind: 'user_forgotten'
  readonly user: string
  /** The name in the audit. It is random, so that it does not reveal who the person was. */
  readonly alias: string
}

/** Gives a grant, unless there is one with this id, or the owner has this many grants that pay already. */
export interface GrantGiven {
  readonly kind: 'grant'
  readonly id: string
  readonly to: GivenGrant
  readonly most: number
}

/**
 * An administrator ends a grant before its time. The store changes the grant as it is stored by then, so that neither a deleted grant
 * comes back, nor a name that was removed from the reason.
 */
export interface GrantEnded {
  readonly kind: 'grant'
  readonly id: string
  readonly endedAt: number
}

/** An access key is made or revoked. */
export interface AccessKeyChange {
  readonly kind: 'token_created' | 'token_revoked'
  /** Replaces the stored record of the access key. */
  readonly record: AccessKeyRecord
  /** The changed record of a key that this one replaces. Default none. */
  readonly replaced?: AccessKeyRecord
  /** For the audit: the owner, without the hash. */
  readonly to: unknown
}

/** Access keys of a user are revoked together. */
export interface AccessKeysRevoked {
  readonly kind: 'tokens_revoked'
  readonly user: string
  /** Each replaces the stored record of its access key. At most MOST_REVOKED. */
  readonly records: readonly AccessKeyRecord[]
  /** For the audit: the keys without their hashes. */
  readonly to: { readonly user: string; readonly tokens: readonly Pick<AccessKeyRecord, 'id' | 'name'>[] }
}

/** Access keys of another system are taken over together, by their hashes. */
export interface AccessKeysImported {
  readonly kind: 'tokens_imported'
  /** At most MOST_REVOKED. */
  readonly records: readonly AccessKeyRecord[]
  /** For the audit: the keys without their hashes. */
  readonly to: { readonly tokens: readonly Pick<AccessKeyRecord, 'id' | 'user' | 'name'>[] }
}

/** Somebody has opened the link of an access key. The key does not change. */
export interface AccessKeyOpened {
  readonly kind: 'token_opened'
  readonly id: string
  readonly records: readonly never[]
  /** For the audit: the owner. */
  readonly to: Pick<AccessKeyRecord, 'user' | 'name'>
}

/** The most access keys that one change revokes or takes over, which bounds how long it holds the store. */
export const MOST_REVOKED = 500

/** Empties windows that users share. The store adds what was used in them, by their names, as `from` of the audit. */
export interface QuotaReset {
  readonly kind: 'quota_reset'
  /** The organisation whose users share them; absent for the windows of all users. */
  readonly organisation?: string
  readonly category: string
  /** The windows to empty. */
  readonly windows: readonly Window[]
  /** Whether to empty all other windows of the category too, which are no longer configured. */
  readonly all: boolean
}

/** Replaces the overrides in force with all staged ones, of users and of organisations. */
export interface OverridesChange {
  readonly kind: 'overrides'
  /** Number of the last change of any kind when they were calculated. After another change nothing is done. */
  readonly base: number
  /** The name under which they were staged. It is used up even if nothing is changed. */
  readonly staged: string
  /** How many were staged for users, and how many for organisations. */
  readonly count: number
  readonly organisations: number
  /** For the audit: the state before and after. */
  readonly from: unknown
  readonly to: unknown
}

/** All overrides, by user and by organisation. */
export type AllOverrides = Pick<StoredControl, 'overrides' | 'organisationOverrides'>

/** By the id of a user or an organisation. */
export type StagedOverride = readonly [
  id: string,
  override: Versioned<Packed<UserOverride>> | Versioned<Packed<OrganisationOverride>>,
]

/** How long replaced overrides are kept, in milliseconds, unless another file comes earlier. */
export const REPLACED_MS = 30 * 86_400_000

/** How long staged overrides are kept after the last call, in milliseconds. */
export const STAGED_MS = 60_000

/** The subject of a change in the audit, as `AuditEntry` explains it. */
export function subjectOf(change: Change): string | null {
  if (change.kind === 'settings' || change.kind === 'overrides' || change.kind === 'tokens_imported') return null
  if (change.kind === 'quota_reset') {
    const { organisation, category } = change
    return organisation === undefined ? `${GLOBAL}${category}` : `${ORGANISATION}${category}:${organisation}`
  }
  if (change.kind === 'organisation_override') return change.organisation
  if (change.kind === 'grant') return change.id
  if (change.kind === 'user_forgotten') return change.alias
  if (change.kind === 'token_opened') return change.id
  return 'record' in change ? change.record.id : change.user
}

/** The beginnings of the subject of a `quota_reset`. The category follows, and after `organisation:` also a colon and the organisation. */
const GLOBAL = 'global:'
const ORGANISATION = 'organisation:'

/**
 * The windows that a `quota_reset` has emptied, as lengths in seconds, NaN for an unknown name. `organisation` is
 * `null` for global windows. `null` for a change of another kind.
 * @param known windows of this process's configuration, by name
 */
export function emptiedBy(
  { what, subject, to }: AuditEntry,
  known: readonly Window[],
): {
  readonly organisation: string | null
  readonly category: string
  readonly seconds: readonly number[]
} | null {
  if (what !== 'quota_reset' || subject === null || !isObject(to)) return null
  const lengthOf = (name: string): number =>
    known.find((window) => window.name === name)?.seconds ?? Number(/^(\d+)s$/.exec(name)?.[1])
  const seconds = Object.keys(to).map(lengthOf)
  if (!subject.startsWith(ORGANISATION)) {
    return { organisation: null, category: subject.slice(GLOBAL.length), seconds }
  }
  const behind = subject.indexOf(':', ORGANISATION.length)
  return { organisation: subject.slice(behind + 1), category: subject.slice(ORGANISATION.length, behind), seconds }
}

/** Somebody who runs a subcommand of `tollgate` on the store, which has no log. */
export const COMMAND_LINE = 'command line'

/** The clock, which makes scheduled changes. */
export const SCHEDULE = 'schedule'
/** The author who takes a change back if too many requests are refused after it, and who otherwise keeps it. */
export const GUARD = 'guard'
/** Somebody who opens the link of an access key, without a known identity. */
export const HANDOVER = 'handover link'

/** The author of a change and the reason: everything that the audit keeps besides the change itself. */
export interface Author {
  /** The name of the person or of the admin token, or `COMMAND_LINE`, `SCHEDULE`, `GUARD` or `HANDOVER`. */
  readonly who: string
  readonly why: string | null
  /** What the gateway found out about the change. Default nothing. */
  readonly vain?: Vain
}

/** The values in a change of the settings that have no effect. */
export interface Vain {
  readonly unfollowed: readonly Unfollowed[]
  /** Whether the change made no difference to anybody. */
  readonly movesNobody: boolean
}

/** One change, as it was made. */
export interface AuditEntry {
  /** Counts the changes from 1, without a gap. */
  readonly version: number
  /** The store's time, in milliseconds since the epoch. */
  readonly at: number
  readonly who: string
  readonly what: Change['kind']
  /**
   * The user or his alias, the organisation, the id of the key or grant, `global:` and a category, or `organisation:`, a category, `:` and
   * the id of the organisation; `null` for `settings`, `overrides` and `tokens_imported`.
   */
  readonly subject: string | null
  /** The value before and after, as stored; `null` if there was or is none. For `quota_reset` used tokens by window. */
  readonly from: unknown
  readonly to: unknown
  readonly why: string | null
  /** Absent if somebody follows each value of the change, or if it sets no limits. */
  readonly vain?: Vain
}

export type Changed =
  | {
      readonly done: true
      readonly entry: AuditEntry /** How many entries were forgotten for it. */
      readonly forgotten: number
    }
  /**
   * Nothing was changed. The settings or the override had another version than expected. Or an access key to replace is gone or revoked
   * (version 0), a grant to end is gone (0) or has ended (its version), or a grant to give exists (its version) or is one too many (0).
   */
  | { readonly done: false; readonly version: number }

/** How many entries the audit keeps. Older ones are forgotten one by one. */
export interface AuditBounds {
  /** This many entries of any kind. */
  readonly newest: number
  /** In addition, this many of each kind, so that ten thousand overrides do not displace the entry that changed the mode. */
  readonly olderOfKind: number
}

export const AUDIT_BOUNDS: AuditBounds = { newest: 10_000, olderOfKind: 2000 }

/** The kinds of changes. An entry of another kind was written by a newer build. */
export const KINDS = [
  'settings',
  'override',
  'organisation_override',
  'overrides',
  'grant',
  'reset',
  'quota_reset',
  'token_created',
  'token_revoked',
  'token_opened',
  'tokens_revoked',
  'tokens_imported',
  'user_forgotten',
] as const satisfies Change['kind'][]

/** The access keys whose stored records a change replaces. */
export function recordsIn(change: Change): readonly AccessKeyRecord[] {
  if ('records' in change) return change.records
  if (!('record' in change)) return []
  return change.replaced === undefined ? [change.record] : [change.record, change.replaced]
}

/** The access key that a change ends. If it does not exist or is revoked, the change is not made. */
export function replacedBy(change: Change): AccessKeyRecord | null {
  return ('replaced' in change && change.replaced) || null
}

/** Whether a change is of something with a version: the settings or an override. */
export function hasVersion({ kind }: Change): boolean {
  return kind === 'settings' || kind === 'override' || kind === 'organisation_override'
}

/** Keeps changes by administrators. Every implementation passes test/control/control-store.suite.ts. */
export interface ControlStore {
  /** The last change and the store's time. Cheap enough to be called every second. @throws StoreError */
  controlVersion(): Promise<LastChange & { readonly at: number }>
  /**
   * Reads everything, in steps that each hold the store for a moment. The version is that of the beginning. Changes
   * during the reading may be included or not, and `changesSince` returns them. @throws StoreError
   */
  readControl(): Promise<StoredControl>
  /**
   * The changes after this one, oldest first. `null` if there are more than 100, if one of them is forgotten or of an
   * unknown kind, or if this change is not remembered: it is too old, or was lost and its number used again. Then
   * everything must be read. @throws StoreError
   */
  changesSince(last: LastChange): Promise<readonly AuditEntry[] | null>
  /**
   * Makes a change together with its entry in the audit, and notifies other replicas.
   * @param expected the version that the settings or the override must have, 0 for none; `null` for any. It is ignored
   * for other changes
   * @throws StoreError
   */
  change(change: Change, author: Author, expected: number | null): Promise<Changed>
  /**
   * Stages overrides with their future versions, until a change of kind `overrides` puts them in force together.
   * Otherwise they disappear STAGED_MS after the last call.
   * @param staged a name that nobody else uses
   * @param overrides at most 500, of owners that were not staged under this name before
   * @param of the kind of their owners
   * @throws StoreError
   */
  stageOverrides(staged: string, overrides: readonly StagedOverride[], of?: 'users' | 'organisations'): Promise<void>
  /**
   * The overrides that a change of kind `overrides` has replaced, by its number; `null` if they are no longer kept.
   * @throws StoreError
   */
  readReplaced(version: number): Promise<AllOverrides | null>
  /** Whether the kept overrides that a file has replaced contain one of this user. @throws StoreError */
  keepsReplaced(user: string): Promise<boolean>
  /** Entries with a version below `before` (`null` for the newest), newest first. @throws StoreError */
  readAudit(before: number | null, limit: number): Promise<readonly AuditEntry[]>
  /** Forgets grants that ended long ago. This does not count as a change. @throws StoreError */
  forgetGrants(ids: readonly string[]): Promise<void>
  /** How many entries the audit has ever forgotten. @throws StoreError */
  forgottenChanges(): Promise<number>
  /**
   * Calls the listener soon after a change by any replica, if the store can notify. A call may be lost, so a follower
   * also asks for the version. @returns stops it
   */
  onChange(listener: () => void): () => void
}
