import type { ScopeName } from '../../quota/charged-scopes.ts'
import type { SeriesKind } from '../../usage/series.ts'

/**
 * The names of our keys. All share one hash tag, so that a script may touch any of them together in a cluster. Redis
 * takes the first braces as the tag, which are ours. The id of a user or an organisation may hold any characters, also
 * braces and colons. It comes last, so two different ids never give the same key.
 */
export interface Keys {
  /** What all of them begin with. */
  readonly all: string
  /** The counters of one user in all categories. One key: each costs Redis about 100 bytes beside its value. */
  user(id: string): string
  /** The counters of one organisation in all categories. */
  organisation(id: string): string
  /** What the user used in runs that are over. It is never there without the key of the counters. */
  history(user: string): string
  /** The same of an organisation. */
  organisationHistory(id: string): string
  /** Name of a window -> since when it is counted. */
  readonly counted: string
  /** The counter of everybody in one category: the global scope. */
  everybody(category: string): string
  /** What is remembered of a charge by a key (quota/once.ts). @param hash of the key and of whose it is */
  once(hash: string): string
  instance(id: string): string
  /** When the user charged first, as long as that is remembered. */
  known(user: string): string
  /** The plan, the organisation and the day that the user's credential named last. */
  membership(user: string): string
  /** The plan and the day that the credential of a user of the organisation named last. */
  named(organisation: string): string
  /** The salt of the hashes of users who were forgotten (forgotten.lua). */
  readonly forgottenSalt: string
  /** What is left of such a user. The scripts make its name. */
  forgottenUser(hash: string): string
  readonly failures: string
  /** Name -> counts of one half hour, or of one day of a zone. @param start its first millisecond */
  series(by: SeriesKind, start: number, zone: string | null): string
  /** What the names of days begin with. */
  readonly seriesDays: string
  /** Id of a refusal -> JSON. */
  readonly refusals: string
  /** Id of a refusal by its last time. */
  readonly refusalTimes: string
  /** The number of the last flush of a process. */
  flush(instance: string): string
  /** SHA-256 of an access key -> its record. */
  readonly tokens: string
  /** Id of an access key -> its SHA-256. */
  readonly tokenIds: string
  /** SHA-256 of an access key -> when it was used last. */
  readonly tokenUses: string
  /** Number of the last change at run time. */
  readonly version: string
  readonly settings: string
  /** User -> override. */
  readonly overrides: string
  /** The same, to be put in its place. */
  stagedOverrides(name: string): string
  /** The overrides before the last file was put in force. */
  readonly replacedOverrides: string
  /** The same of organisations. */
  stagedOrganisationOverrides(name: string): string
  readonly replacedOrganisationOverrides: string
  /** Organisation -> override. */
  readonly organisationOverrides: string
  /** Id -> grant. */
  readonly grants: string
  readonly audit: string
  /** Entries of one kind that are older than those of `audit`. */
  olderAudit(kind: string): string
  /** How many entries of the audit are forgotten. */
  readonly forgotten: string
  /** Instance -> what it has counted for a guard. */
  guard(id: string): string
  /** That a session of the dashboard was signed out. */
  endedSession(id: string): string
  /** An access key that waits to be handed over by a link, sealed. */
  handover(id: string): string
  /** The key set of an issuer that was fetched last. @param id as `keySetId` of auth/jwks.ts makes it */
  keySet(id: string): string
  /** Not a key but a channel: each change is published on it. */
  readonly changes: string
  /** Instance -> when it spoke last. */
  readonly beats: string
  /** Instance -> its report. */
  readonly replicas: string
  /** Instance that ended without a word -> since when what it counted may be missing, and until when. */
  readonly silences: string
  /** What was claimed of a run by an alert. @param place as `placeOf` of alerts/alert.ts */
  claim(place: string): string
  /** Pending events of an alert by when they are due. */
  alertDue(name: string): string
  /** All events of an alert by when they were raised. */
  alertAll(name: string): string
  /** Events of an alert that are not pending, by when that was. */
  alertDone(name: string): string
  /** Events of an alert, and their states. */
  alertEvents(name: string): string
  /** Alert -> where its events go. */
  readonly alertTargets: string
  /** There while `tollgate store copy` fills the store, and after one that did not end. */
  readonly copying: string
}

export function createKeys(prefix: string): Keys {
  const tag = `{${prefix}}`
  return {
    all: `${tag}:`,
    user: (id) => `${tag}:c:${id}`,
    organisation: (id) => `${tag}:o:${id}`,
    history: (user) => `${tag}:h:${user}`,
    organisationHistory: (id) => `${tag}:ho:${id}`,
    counted: `${tag}:counted`,
    everybody: (category) => `${tag}:all:${category}`,
    once: (hash) => `${tag}:once:${hash}`,
    instance: (id) => `${tag}:last:${id}`,
    known: (user) => `${tag}:known:${user}`,
    membership: (user) => `${tag}:member:${user}`,
    named: (organisation) => `${tag}:named:${organisation}`,
    forgottenSalt: `${tag}:forgotten`,
    forgottenUser: (hash) => `${tag}:forgotten:${hash}`,
    failures: `${tag}:failures`,
    series: (by, start, zone) =>
      zone === null ? `${tag}:series:${by}:${start}` : `${tag}:series-days:${by}:${start}:${zone}`,
    seriesDays: `${tag}:series-days:`,
    refusals: `${tag}:refusals`,
    refusalTimes: `${tag}:refusals:times`,
    flush: (id) => `${tag}:flush:${id}`,
    tokens: `${tag}:tokens`,
    tokenIds: `${tag}:token-ids`,
    tokenUses: `${tag}:token-uses`,
    version: `${tag}:version`,
    settings: `${tag}:settings`,
    overrides: `${tag}:overrides`,
    stagedOverrides: (name) => `${tag}:overrides:staged:${name}`,
    replacedOverrides: `${tag}:overrides:replaced`,
    stagedOrganisationOverrides: (name) => `${tag}:organisation-overrides:staged:${name}`,
    replacedOrganisationOverrides: `${tag}:organisation-overrides:replaced`,
    organisationOverrides: `${tag}:organisation-overrides`,
    grants: `${tag}:grants`,
    audit: `${tag}:audit`,
    olderAudit: (kind) => `${tag}:audit:of:${kind}`,
    forgotten: `${tag}:audit:forgotten`,
    guard: (id) => `${tag}:guard:${id}`,
    endedSession: (id) => `${tag}:ended-session:${id}`,
    handover: (id) => `${tag}:handover:${id}`,
    keySet: (id) => `${tag}:key-set:${id}`,
    changes: `${tag}:changes`,
    beats: `${tag}:beats`,
    replicas: `${tag}:replicas`,
    silences: `${tag}:silences`,
    claim: (place) => `${tag}:claim:${place}`,
    alertDue: (name) => `${tag}:alert:due:${name}`,
    alertAll: (name) => `${tag}:alert:all:${name}`,
    alertDone: (name) => `${tag}:alert:done:${name}`,
    alertEvents: (name) => `${tag}:alert:events:${name}`,
    alertTargets: `${tag}:alert:targets`,
    copying: `${tag}:copying`,
  }
}

/** Where the counters of a scope are. @param name of the user, the organisation, or, in the global scope, the category */
export function keyOf(keys: Keys, scope: ScopeName, name: string): string {
  if (scope === 'personal') return keys.user(name)
  return scope === 'organisation' ? keys.organisation(name) : keys.everybody(name)
}
