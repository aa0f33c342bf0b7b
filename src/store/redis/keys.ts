import type { ScopeName } from '../../quota/charged-scopes.ts'
import type { SeriesKind } from '../../usage/series.ts'

/**
 * The names of our keys. All share one hash tag, so that a script may touch any of them together in a cluster. Redis
 * takes the first braces as the tag, which are ours. The id of a user or an organisation may hold any characters, also
 * braces and colons. It comes last, so two different ids never give the same key.
 */
export function createKeys(prefix: string) {
  const tag = `{${prefix}}`
  return {
    /** What all of them begin with. */
    all: `${tag}:`,
    /** The counters of one user in all categories. One key: each costs Redis about 100 bytes beside its value. */
    user: (id: string) => `${tag}:c:${id}`,
    /** The counters of one organisation in all categories. */
    organisation: (id: string) => `${tag}:o:${id}`,
    /** What the user used in runs that are over. It is never there without the key of the counters. */
    history: (user: string) => `${tag}:h:${user}`,
    /** The same of an organisation. */
    organisationHistory: (id: string) => `${tag}:ho:${id}`,
    /** Name of a window -> since when it is counted. */
    counted: `${tag}:counted`,
    /** The counter of everybody in one category: the global scope. */
    everybody: (category: string) => `${tag}:all:${category}`,
    /** What is remembered of a charge by a key (quota/once.ts). @param hash of the key and of whose it is */
    once: (hash: string) => `${tag}:once:${hash}`,
    instance: (id: string) => `${tag}:last:${id}`,
    /** When the user charged first, as long as that is remembered. */
    known: (user: string) => `${tag}:known:${user}`,
    /** The plan, the organisation and the day that the user's credential named last. */
    membership: (user: string) => `${tag}:member:${user}`,
    /** The plan and the day that the credential of a user of the organisation named last. */
    named: (organisation: string) => `${tag}:named:${organisation}`,
    /** The salt of the hashes of users who were forgotten (forgotten.lua). */
    forgottenSalt: `${tag}:forgotten`,
    /** What is left of such a user. The scripts make its name. */
    forgottenUser: (hash: string) => `${tag}:forgotten:${hash}`,
    failures: `${tag}:failures`,
    /** Name -> counts of one half hour, or of one day of a zone. @param start its first millisecond */
    series: (by: SeriesKind, start: number, zone: string | null) =>
      zone === null ? `${tag}:series:${by}:${start}` : `${tag}:series-days:${by}:${start}:${zone}`,
    /** What the names of days begin with. */
    seriesDays: `${tag}:series-days:`,
    /** Id of a refusal -> JSON. */
    refusals: `${tag}:refusals`,
    /** Id of a refusal by its last time. */
    refusalTimes: `${tag}:refusals:times`,
    /** The number of the last flush of a process. */
    flush: (instance: string) => `${tag}:flush:${instance}`,
    /** SHA-256 of an access key -> its record. */
    tokens: `${tag}:tokens`,
    /** Id of an access key -> its SHA-256. */
    tokenIds: `${tag}:token-ids`,
    /** SHA-256 of an access key -> when it was used last. */
    tokenUses: `${tag}:token-uses`,
    /** Number of the last change at run time. */
    version: `${tag}:version`,
    settings: `${tag}:settings`,
    /** User -> override. */
    overrides: `${tag}:overrides`,
    /** The same, to be put in its place. */
    stagedOverrides: (name: string) => `${tag}:overrides:staged:${name}`,
    /** The overrides before the last file was put in force. */
    replacedOverrides: `${tag}:overrides:replaced`,
    /** The same of organisations. */
    stagedOrganisationOverrides: (name: string) => `${tag}:organisation-overrides:staged:${name}`,
    replacedOrganisationOverrides: `${tag}:organisation-overrides:replaced`,
    /** Organisation -> override. */
    organisationOverrides: `${tag}:organisation-overrides`,
    /** Id -> grant. */
    grants: `${tag}:grants`,
    audit: `${tag}:audit`,
    /** Entries of one kind that are older than those of `audit`. */
    olderAudit: (kind: string) => `${tag}:audit:of:${kind}`,
    /** How many entries of the audit are forgotten. */
    forgotten: `${tag}:audit:forgotten`,
    /** Instance -> what it has counted for a guard. */
    guard: (id: string) => `${tag}:guard:${id}`,
    /** That a session of the dashboard was signed out. */
    endedSession: (id: string) => `${tag}:ended-session:${id}`,
    /** An access key that waits to be handed over by a link, sealed. */
    handover: (id: string) => `${tag}:handover:${id}`,
    /** The key set of an issuer that was fetched last. @param id as `keySetId` of auth/jwks.ts makes it */
    keySet: (id: string) => `${tag}:key-set:${id}`,
    /** Not a key but a channel: each change is published on it. */
    changes: `${tag}:changes`,
    /** Instance -> when it spoke last. */
    beats: `${tag}:beats`,
    /** Instance -> its report. */
    replicas: `${tag}:replicas`,
    /** Instance that ended without a word -> since when what it counted may be missing, and until when. */
    silences: `${tag}:silences`,
    /** What was claimed of a run by an alert. @param place as `placeOf` of alerts/alert.ts */
    claim: (place: string) => `${tag}:claim:${place}`,
    /** Pending events of an alert by when they are due. */
    alertDue: (name: string) => `${tag}:alert:due:${name}`,
    /** All events of an alert by when they were raised. */
    alertAll: (name: string) => `${tag}:alert:all:${name}`,
    /** Events of an alert that are not pending, by when that was. */
    alertDone: (name: string) => `${tag}:alert:done:${name}`,
    /** Events of an alert, and their states. */
    alertEvents: (name: string) => `${tag}:alert:events:${name}`,
    /** Alert -> where its events go. */
    alertTargets: `${tag}:alert:targets`,
    /** There while `tollgate store copy` fills the store, and after one that did not end. */
    copying: `${tag}:copying`,
  }
}

export type Keys = ReturnType<typeof createKeys>

/** Where the counters of a scope are. @param name of the user, the organisation, or, in the global scope, the category */
export function keyOf(keys: Keys, scope: ScopeName, name: string): string {
  if (scope === 'personal') return keys.user(name)
  return scope === 'organisation' ? keys.organisation(name) : keys.everybody(name)
}
