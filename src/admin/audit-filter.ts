import type { AuditEntry, ControlStore } from '../control/control-store.ts'
import { isObject } from '../lib/json.ts'
import { auditEntries } from './audit-entries.ts'

/** Which entries of the audit to find. A missing field accepts any. */
export interface AuditFilter {
  /** A part of the author's name. Letter case is ignored, as in `about`. */
  readonly who?: string | undefined
  readonly what?: AuditEntry['what'] | undefined
  /** A part of the name of the subject: a user, an organisation, the category of a reset, or an access key. */
  readonly about?: string | undefined
  /** In milliseconds since the epoch, for changes in [from, to). */
  readonly from?: number | undefined
  readonly to?: number | undefined
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  /** The number below which entries were not looked at yet; `null` if there are none. */
  readonly next: number | null
}

/** Entries that one call of the store reads for a page with a filter. */
const STEP = 200
/** How many entries one page looks through at most. */
export const MOST_LOOKED_AT = 2000

/**
 * The newest entries below `before` that pass the filter. A page ends after `limit` of them, or after MOST_LOOKED_AT entries. Then it may
 * be empty, and the next page goes on.
 * @throws StoreError
 */
export async function auditPage(
  store: Pick<ControlStore, 'readAudit'>,
  filter: AuditFilter,
  { before, limit, signal }: { readonly before: number | null; readonly limit: number; readonly signal: AbortSignal },
): Promise<AuditPage> {
  const passes = passing(filter)
  const entries: AuditEntry[] = []
  let looked = 0
  for await (const entry of auditEntries(store, before, isEmpty(filter) ? limit : STEP)) {
    signal.throwIfAborted()
    if (entry.at < (filter.from ?? 0)) break
    if (passes(entry)) entries.push(entry)
    if (entries.length === limit || ++looked === MOST_LOOKED_AT) return { entries, next: placeBelow(entry) }
  }
  return { entries, next: null }
}

/** There is no change below the first one. */
function placeBelow({ version }: AuditEntry): number | null {
  return version > 1 ? version : null
}

function isEmpty({ who, what, about, to }: AuditFilter): boolean {
  return who === undefined && what === undefined && about === undefined && to === undefined
}

function passing({ who, what, about, to = Number.POSITIVE_INFINITY }: AuditFilter): (entry: AuditEntry) => boolean {
  const [name, subject] = [who?.toLowerCase(), about?.toLowerCase()]
  const has = (text: string, part: string): boolean => text.toLowerCase().includes(part)
  return (entry) =>
    entry.at < to &&
    (what === undefined || entry.what === what) &&
    (name === undefined || has(entry.who, name)) &&
    (subject === undefined || namesIn(entry).some((each) => has(each, subject)))
}

/**
 * The names that a change is about. A grant has its owner too, access keys have their users and names, and a file the users and
 * organisations that the audit lists.
 */
function namesIn({ what, subject, to }: AuditEntry): readonly string[] {
  const of = isObject(to) ? to : {}
  if (what === 'overrides') return [...keysOf(of.overrides), ...keysOf(of.organisations)]
  if (what === 'quota_reset') return [subject?.slice(subject.indexOf(':') + 1) ?? '']
  const tokens: readonly unknown[] = Array.isArray(of.tokens) ? of.tokens : []
  const owner = what === 'grant' ? [of.user, of.organisation] : []
  const ofKeys = what.startsWith('token')
    ? [of, ...tokens.filter(isObject)].flatMap(({ id, user, name }) => [id, user, name])
    : []
  return [subject, ...owner, ...ofKeys].filter((each) => typeof each === 'string')
}

function keysOf(value: unknown): string[] {
  return isObject(value) ? Object.keys(value) : []
}
