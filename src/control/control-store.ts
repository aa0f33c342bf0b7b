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
      readonly user: string /** `null` takes it away. */
      readonly to: Packed<UserOverride> | null
    }
  | {
      readonly kind: 'organisation_override'
      readonly organisation: string
      /** `null` takes it away. */ readonly to: Packed<OrganisationOverride> | null
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
 * A person is forgotten: nothing that a store keeps names the user any more. Windows that run go on under a salted hash of the name, so
 * that forgetting is no way to empty them, and the audit has another name in the place of the user's.
 */
export interface Forgetting {
  readonly kind: 'user_forgotten'
  readonly user: string
  /** What the audit has instead. It is made by chance, so that it says nothing of who that was. */
  readonly alias: string
}

/** A grant is given. It is not if there is one with this id, or if as many as these of its owner pay already. */
export interface GrantGiven {
  readonly kind: 'grant'
  readonly id: string
  readonly to: GivenGrant
  readonly most: number
}

/**
 * An administrator ends a grant that has not ended so. The store changes what it holds then: a grant whose user was forgotten meanwhile
 * does not come back, and a name that was taken out of its reason does not either.
 */
export interface GrantEnded {
  readonly kind: 'grant'
  readonly id: string
  readonly endedAt: number
}

/** An access key is made or revoked. */
export interface AccessKeyChange {
  readonly kind: 'token_created' | 'token_revoked'
  /** Takes the place of what was kept of the access key. */
  readonly record: AccessKeyRecord
  /** One that the access key replaces; takes the place of what was kept of it. Default none. */
  readonly replaced?: AccessKeyRecord
  /** For the audit: whose it is, without its hash. */
  readonly to: unknown
}

/** Access keys of a user are revoked together. */
export interface AccessKeysRevoked {
  readonly kind: 'tokens_revoked'
  readonly user: string
  /** Each takes the place of what was kept of its access key. MOST_REVOKED at most. */
  readonly records: readonly AccessKeyRecord[]
  /** For the audit: which they are, without their hashes. */
  readonly to: { readonly user: string; readonly tokens: readonly Pick<AccessKeyRecord, 'id' | 'name'>[] }
}

/** Access keys that others have made are taken over together, by their hashes. */
export interface AccessKeysImported {
  readonly kind: 'tokens_imported'
  /** MOST_REVOKED at most. */
  readonly records: readonly AccessKeyRecord[]
  /** For the audit: which they are, without their hashes. */
  readonly to: { readonly tokens: readonly Pick<AccessKeyRecord, 'id' | 'user' | 'name'>[] }
}

/** Somebody has opened the link of an access key. The key stays as it is. */
export interface AccessKeyOpened {
  readonly kind: 'token_opened'
  readonly id: string
  readonly records: readonly never[]
  /** For the audit: whose it is. */
  readonly to: Pick<AccessKeyRecord, 'user' | 'name'>
}

/** Access keys that one change revokes or takes over, at most: it bounds how long it holds the store. */
export const MOST_REVOKED = 500

/** Empties windows that users share. The store works out what was used in them, by their names: `from` of the audit. */
export interface QuotaReset {
  readonly kind: 'quota_reset'
  /** Whose users share them; missing for those of all users. */
  readonly organisation?: string
  readonly category: string
  /** Those to be emptied. */
  readonly windows: readonly Window[]
  /** Whether all others of the category are emptied too: those that only another configuration names. */
  readonly all: boolean
}

/** Puts all overrides that were staged, of users and of organisations, in the place of those in force. */
export interface OverridesChange {
  readonly kind: 'overrides'
  /** Number of the last change of any kind when they were worked out. After another one nothing is changed. */
  readonly base: number
  /** The name under which they were staged. It is used up, also if nothing is changed. */
  readonly staged: string
  /** How many were staged: of users, and of organisations. */
  readonly count: number
  readonly organisations: number
  /** For the audit: what is so before and after. */
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

/** How long the overrides that a file has replaced are kept, in milliseconds, unless another file comes before. */
export const REPLACED_MS = 30 * 86_400_000

/** How long staged overrides are kept after the last call, in milliseconds. */
export const STAGED_MS = 60_000

/** Whom or what a change is about. */
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

/** Before the category, in the subject of a `quota_reset`. Behind a category comes a colon, which none holds, and the organisation. */
const GLOBAL = 'global:'
const ORGANISATION = 'organisation:'

/**
 * The windows that a `quota_reset` has emptied: their lengths, in seconds; NaN for a name that nobody here knows.
 * `organisation` is `null` for windows of everybody. The whole is `null` for a change of another kind.
 * @param known windows by the names of this process's configuration
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

/** Whoever runs `tollgate` with a subcommand on the store: it has no log. */
export const COMMAND_LINE = 'command line'

/** The clock, for a change that was scheduled. */
export const SCHEDULE = 'schedule'
/** Whoever takes a change back after which too many requests are refused. */
export const GUARD = 'guard'
/** Whoever opens the link of an access key, which says nothing of who that is. */
export const HANDOVER = 'handover link'

/** Who makes a change and why: what the audit keeps of it beside the change itself. */
export interface Author {
  /** Name of the admin token, `COMMAND_LINE`, `SCHEDULE` or `GUARD`. */
  readonly who: string
  readonly why: string | null
  /** What the gateway found out of the change beside the reason. Default nothing. */
  readonly vain?: Vain
}

/** What a change of the settings sets in vain. */
export interface Vain {
  readonly unfollowed: readonly Unfollowed[]
  /** Whether it made no difference to anybody. */
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
  /** The user (or what stands for one who was forgotten), the organisation, the id of the token or of the grant, `global:` and a category, or `organisation:`, a category, `:` and its id; `null` for settings and `overrides`. */
  readonly subject: string | null
  /** The value before and after, as stored; `null` if there was or is none. For `quota_reset` used tokens by window. */
  readonly from: unknown
  readonly to: unknown
  readonly why: string | null
  /** Missing where somebody follows each value that it sets, and for what is no limit. */
  readonly vain?: Vain
}

export type Changed =
  | {
      readonly done: true
      readonly entry: AuditEntry /** Entries that were forgotten for it. */
      readonly forgotten: number
    }
  /**
   * The settings or the override had another version than was expected, an access key that would be replaced is gone or revoked (version
   * 0), a grant that would be ended is gone (0) or has ended (its version), or one that would be given is there (its version) or too many
   * (0): nothing was changed.
   */
  | { readonly done: false; readonly version: number }

/** How much the audit remembers. The rest is forgotten one by one. */
export interface AuditBounds {
  /** So many entries, whatever their kind. */
  readonly newest: number
  /** Beyond these, this many of each kind: ten thousand overrides must not wash out who changed the mode. */
  readonly olderOfKind: number
}

export const AUDIT_BOUNDS: AuditBounds = { newest: 10_000, olderOfKind: 2000 }

/** What a change may be. An entry of another kind was written by a newer build. */
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

/** The access keys that a change puts in the place of those that are kept. */
export function recordsIn(change: Change): readonly AccessKeyRecord[] {
  if ('records' in change) return change.records
  if (!('record' in change)) return []
  return change.replaced === undefined ? [change.record] : [change.record, change.replaced]
}

/** The access key that a change gives an end, which must be there and not be revoked; else the change is not made. */
export function replacedBy(change: Change): AccessKeyRecord | null {
  return ('replaced' in change && change.replaced) || null
}

/** Whether a change is of what has a version of its own: settings, or the override of somebody. */
export function hasVersion({ kind }: Change): boolean {
  return kind === 'settings' || kind === 'override' || kind === 'organisation_override'
}

/** Keeps what administrators change. Every implementation passes test/control/control-store.suite.ts. */
export interface ControlStore {
  /** The last change, and the store's time: cheap enough to be asked every second. @throws StoreError */
  controlVersion(): Promise<LastChange & { readonly at: number }>
  /**
   * Everything, read in steps that hold the store for a moment each, under the version that it had at first: what is
   * changed meanwhile may be in it or not, and is after that version for `changesSince`. @throws StoreError
   */
  readControl(): Promise<StoredControl>
  /**
   * The changes after this one, oldest first. `null` if they are more than 100, one of them is forgotten or of a kind that
   * this build does not know, or the store does not remember this one: it is too old, or was lost and its number is
   * another's. Then all is to be read. @throws StoreError
   */
  changesSince(last: LastChange): Promise<readonly AuditEntry[] | null>
  /**
   * Makes a change and its entry in the audit as one, and notifies the other replicas.
   * @param expected the version that the settings or the override must have, 0 for none; `null` for whatever they have;
   *   looked at for settings and the override of a user only
   * @throws StoreError
   */
  change(change: Change, author: Author, expected: number | null): Promise<Changed>
  /**
   * Lays overrides aside, each with the version that it is to have, until a change of kind `overrides` puts them in force
   * together. What is not put in force is gone STAGED_MS after the last call.
   * @param staged a name that nobody else uses
   * @param overrides at most 500, of users or organisations that were not staged under this name before
   * @param of whose they are
   * @throws StoreError
   */
  stageOverrides(staged: string, overrides: readonly StagedOverride[], of?: 'users' | 'organisations'): Promise<void>
  /**
   * The overrides that a change of kind `overrides` has replaced, by its number; `null` if they are not kept any more.
   * @throws StoreError
   */
  readReplaced(version: number): Promise<AllOverrides | null>
  /** Whether one of this user is among the overrides that a file has replaced and that are still kept. @throws StoreError */
  keepsReplaced(user: string): Promise<boolean>
  /** Entries with a version below `before` (`null`: the newest), newest first. @throws StoreError */
  readAudit(before: number | null, limit: number): Promise<readonly AuditEntry[]>
  /** Forgets grants that ended long ago. It is no change. @throws StoreError */
  forgetGrants(ids: readonly string[]): Promise<void>
  /** How many entries the audit has forgotten, ever. @throws StoreError */
  forgottenChanges(): Promise<number>
  /**
   * Calls soon after a change by any replica, if the store can notify; a hint that may be lost, so that whoever follows
   * asks for the version too. @returns stops it
   */
  onChange(listener: () => void): () => void
}
