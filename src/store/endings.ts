import type { HandoverStore } from '../control/handover-store.ts'
import { KEEP_KEY_SET_MS, type KeySetStore } from '../control/kept-key-sets.ts'
import type { SessionStore } from '../control/session-store.ts'
import type { RecordKind } from '../observe/observation.ts'
import type { KnownUserStore } from '../quota/known-users.ts'
import { factsOf, type MembershipStore, namedByOrganisation, namesNothing } from '../quota/memberships.ts'
import { membershipOf, namedOf } from './record-forms.ts'
import type { RecordList, Records } from './records.ts'
import { shareReads } from './shared-reads.ts'

/**
 * Lists whose entries expire by themselves. An entry is a text with an id. Both stores do the same few things with entries (`Endings`), and
 * the meaning of the texts is written once, in this file. Keys in Redis and rows in SQLite have these names.
 */
export type EndingList =
  /** When the user first charged, as `timesOf` writes it. */
  | 'known'
  /** What the user's last credential named, as JSON. */
  | 'member'
  /** What the last credential of the organisation's users named, as JSON. */
  | 'named'
  /** Sessions of the dashboard that were signed out. */
  | 'ended-session'
  /** Access keys that wait to be handed over by a link, sealed. */
  | 'handover'
  /** The last key set fetched from each issuer. The ids are made by `keySetId` of auth/jwks.ts. */
  | 'key-set'

/** The lists that a copy of a store contains. The other lists matter for a short time only. */
export const COPIED_LISTS = ['known', 'member', 'named'] as const satisfies EndingList[]

export interface Ending {
  readonly id: string
  readonly text: string
  /** When it is forgotten, in milliseconds since the epoch. */
  readonly ends: number
}

/** What each store does with the entries of these lists. All methods throw StoreErrors. */
export interface Endings {
  /** The name of the list in the report of an unreadable record. */
  placeOf(list: EndingList): string
  /** The text of an entry; `null` if it is missing. For a key of another type in Redis it is a text that no parser accepts. */
  look(list: EndingList, id: string): Promise<string | null>
  /** The texts in the order of the ids, `null` for a missing entry. */
  read(list: EndingList, ids: readonly string[]): Promise<readonly (string | null)[]>
  /** The same with the time of the store. A Redis cluster without free memory refuses this reading. */
  readAt(
    list: EndingList,
    ids: readonly string[],
  ): Promise<{ readonly at: number; readonly texts: readonly (string | null)[] }>
  /** The text of an entry, and how many milliseconds are left until it is forgotten; `null` if it is missing. */
  readOne(list: EndingList, id: string): Promise<{ readonly text: string; readonly leftMs: number } | null>
  /**
   * Puts all of these entries or none.
   * @param entries a text of `null` deletes the entry
   * @param forMs how long the entries are kept from now on, in milliseconds
   */
  put(entries: readonly (readonly [list: EndingList, id: string, text: string | null])[], forMs: number): Promise<void>
  /**
   * Puts an entry, unless the store has one that ends later.
   * @param mostMs the longest time for which entries are kept. If the stored entry has longer left, the clock was ahead, and a new entry that
   * is kept for this time replaces it
   */
  putLater(list: EndingList, id: string, text: string, forMs: number, mostMs: number): Promise<void>
  /** Returns an entry and deletes it. If several ask at once, one of them gets the entry. */
  take(list: EndingList, id: string): Promise<string | null>
  /** Keeps first times for longer, and notes the present time where there is none. @returns how long ago each first time was, in milliseconds */
  noteTimes(list: EndingList, ids: readonly string[], forMs: number): Promise<readonly number[]>
}

/** The text of a first time, and of the time when it is forgotten. Both are in milliseconds since the epoch. */
export function timesOf(first: number, ends: number): string {
  return `${first} ${ends}`
}

/** The first time in such a text, `null` for any other text. */
export function firstIn(text: string): number | null {
  const [, first] = /^(\d{1,15}) \d{1,15}$/.exec(text) ?? []
  return first === undefined ? null : Number(first)
}

/** The most users whose first times are read by one command. */
const MOST_READS = 256

/** Reads the records of the lists that are copied, each by itself. */
export function endingRecords({ placeOf, look }: Pick<Endings, 'placeOf' | 'look'>, records: Records) {
  const list = <T>(list: EndingList, kind: RecordKind, parse: (text: string) => T | null): RecordList<string, T> =>
    records.list({ kind, list: placeOf(list), parse, look: (id) => look(list, id) })
  return {
    known: list('known', 'known_user', firstIn),
    member: list('member', 'membership', (text) => membershipOf(JSON.parse(text))),
    named: list('named', 'membership', (text) => namedOf(JSON.parse(text))),
  }
}

export function endingLists(
  endings: Endings,
  records: Records,
): KnownUserStore & MembershipStore & SessionStore & HandoverStore & KeySetStore {
  const { known, member, named } = endingRecords(endings, records)

  function parsed<T>(of: RecordList<string, T>, ids: readonly string[], texts: readonly (string | null)[]) {
    return texts.map((text, i) => (text === null ? null : of.read(ids[i] ?? '', text)))
  }

  async function readAll<T>(list: EndingList, of: RecordList<string, T>, ids: readonly string[]) {
    return ids.length === 0 ? [] : parsed(of, ids, await endings.read(list, ids))
  }

  async function agesOf(users: readonly string[]): Promise<(number | null)[]> {
    const { at, texts } = await endings.readAt('known', users)
    return parsed(known, users, texts).map((first) => (first === null ? null : Math.max(0, at - first)))
  }

  return {
    noteUsers: async (users, rememberMs) => (users.length === 0 ? [] : endings.noteTimes('known', users, rememberMs)),
    knownFor: shareReads(agesOf, MOST_READS),

    async noteMemberships(payers, rememberMs) {
      const ofUsers = payers.map(
        (payer) => ['member', payer.user, namesNothing(payer) ? null : JSON.stringify(factsOf(payer))] as const,
      )
      const ofOrganisations = [...namedByOrganisation(payers)].map(
        ([organisation, last]) => ['named', organisation, last && JSON.stringify(last)] as const,
      )
      if (payers.length > 0) await endings.put([...ofUsers, ...ofOrganisations], rememberMs)
    },
    readMemberships: (users) => readAll('member', member, users),
    readNamed: (organisations) => readAll('named', named, organisations),

    endSession: (id, forMs) => endings.put([['ended-session', id, '1']], forMs),
    isSessionEnded: async (id) => (await endings.look('ended-session', id)) !== null,

    putHandover: (id, sealed, forMs) => endings.put([['handover', id, sealed]], forMs),
    takeHandover: (id) => endings.take('handover', id),

    keepKeySet: (id, text, ageMs) => endings.putLater('key-set', id, text, KEEP_KEY_SET_MS - ageMs, KEEP_KEY_SET_MS),
    async readKeySet(id) {
      const kept = await endings.readOne('key-set', id)
      return kept && { text: kept.text, ageMs: Math.max(0, KEEP_KEY_SET_MS - kept.leftMs) }
    },
  }
}
