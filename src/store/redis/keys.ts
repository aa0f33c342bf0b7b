import type { ScopeName } from '../../quota/charged-scopes.ts'
import type { SeriesKind } from '../../usage/series.ts'
import type { EndingList } from '../endings.ts'

/**
 * The names of our keys. They share one hash tag, so that a script can use all of them in a cluster. Redis takes the
 * first braces as the tag, and these are ours. The id of a user or organisation may contain any characters, even braces
 * and colons. It comes last, so two different ids never give the same key.
 */
export function createKeys(prefix: string) {
  const tag = `{${prefix}}`
  return {
    /** The prefix of all keys. */
    all: `${tag}:`,
    /** The counters of one user in all categories. They are one key, because each key costs Redis about 100 bytes. */
    user: (id: string) => `${tag}:c:${id}`,
    /** The counters of one organisation in all categories. */
    organisation: (id: string) => `${tag}:o:${id}`,
    /** What the user used in runs that are over. It exists only together with the counters. */
    history: (user: string) => `${tag}:h:${user}`,
    /** The same for an organisation. */
    organisationHistory: (id: string) => `${tag}:ho:${id}`,
    /** Name of a window -> since when it is counted. */
    counted: `${tag}:counted`,
    /** The counter of everybody in one category: the global scope. */
    everybody: (category: string) => `${tag}:all:${category}`,
    /** What is remembered of a charge by a key (quota/once.ts). @param hash of the key and its owner */
    once: (hash: string) => `${tag}:once:${hash}`,
    /** The last reply to a process about a batch. */
    instance: (id: string) => `${tag}:last:${id}`,
    /** An entry of a list whose entries expire by themselves. */
    ending: (list: EndingList, id: string) => `${tag}:${list}:${id}`,
    /** The salt of the hashes of users who were forgotten (forgotten.lua). */
    forgottenSalt: `${tag}:forgotten`,
    /** What is left of such a user. The scripts make the name of this key. */
    forgottenUser: (hash: string) => `${tag}:forgotten:${hash}`,
    failures: `${tag}:failures`,
    /** Name -> counts of one half hour, or of one day in a zone. @param start its first millisecond */
    series: (by: SeriesKind, start: number, zone: string | null) =>
      zone === null ? `${tag}:series:${by}:${start}` : `${tag}:series-days:${by}:${start}:${zone}`,
    /** The prefix of the keys of days. */
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
    /** SHA-256 of an access key -> when it was last used. */
    tokenUses: `${tag}:token-uses`,
    /** Number of the last change by an administrator. */
    version: `${tag}:version`,
    settings: `${tag}:settings`,
    /** User -> override. */
    overrides: `${tag}:overrides`,
    /** Staged overrides, which will replace `overrides`. */
    stagedOverrides: (name: string) => `${tag}:overrides:staged:${name}`,
    /** The overrides from before the last file was put in force. */
    replacedOverrides: `${tag}:overrides:replaced`,
    /** Staged overrides of organisations. */
    stagedOrganisationOverrides: (name: string) => `${tag}:organisation-overrides:staged:${name}`,
    replacedOrganisationOverrides: `${tag}:organisation-overrides:replaced`,
    /** Organisation -> override. */
    organisationOverrides: `${tag}:organisation-overrides`,
    /** Id -> grant. */
    grants: `${tag}:grants`,
    audit: `${tag}:audit`,
    /** Entries of one kind that are no longer in `audit`. */
    olderAudit: (kind: string) => `${tag}:audit:of:${kind}`,
    /** How many entries of the audit were forgotten. */
    forgotten: `${tag}:audit:forgotten`,
    /** Instance -> what it has counted for a guard. */
    guard: (id: string) => `${tag}:guard:${id}`,
    /** Not a key but a channel: each change is published on it. */
    changes: `${tag}:changes`,
    /** Instance -> when it last reported. */
    beats: `${tag}:beats`,
    /** Instance -> its report. */
    replicas: `${tag}:replicas`,
    /** Instance that disappeared -> the time from which its counts may be missing, and until when. */
    silences: `${tag}:silences`,
    /** The last run that an alert has claimed. @param place as its kind makes it (alerts/kinds/) */
    claim: (place: string) => `${tag}:claim:${place}`,
    /** Pending events of an alert by when they are due. */
    alertDue: (name: string) => `${tag}:alert:due:${name}`,
    /** All events of an alert by when they were raised. */
    alertAll: (name: string) => `${tag}:alert:all:${name}`,
    /** Events of an alert that are not pending, by when they were delivered or given up. */
    alertDone: (name: string) => `${tag}:alert:done:${name}`,
    /** Events of an alert with their states. */
    alertEvents: (name: string) => `${tag}:alert:events:${name}`,
    /** Alert -> where its events go. */
    alertTargets: `${tag}:alert:targets`,
    /** Exists while `tollgate store copy` fills the store, and after a copy that broke off. */
    copying: `${tag}:copying`,
  }
}

export type Keys = ReturnType<typeof createKeys>

/** The key of the counters of a scope. @param name of the user or organisation, or the category in the global scope */
export function keyOf(keys: Keys, scope: ScopeName, name: string): string {
  if (scope === 'personal') return keys.user(name)
  return scope === 'organisation' ? keys.organisation(name) : keys.everybody(name)
}
