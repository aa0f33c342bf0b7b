import type { AccessKeyRecord } from '../control/access-key-store.ts'
import type { AuditEntry } from '../control/control-store.ts'
import type { Changes, GivenGrant, OrganisationOverride, Packed, UserOverride, Versioned } from '../control/state.ts'
import { messageOf } from '../errors.ts'
import type { Bucket } from '../failures/histogram.ts'
import type { ScopeName } from '../quota/charged-scopes.ts'
import { type Counter, endsAt, running } from '../quota/counter.ts'
import type { CountedSince, KeptStates } from '../quota/history-store.ts'
import type { Membership } from '../quota/memberships.ts'
import type { Named } from '../quota/payer.ts'
import type { ReplicaStore } from '../replicas/presence.ts'
import type { Episode } from '../usage/episodes.ts'
import type { SeriesEntry } from '../usage/series.ts'
import type { Silence } from '../usage/silence.ts'

/**
 * Copies a whole store into another one. Every implementation passes test/store/copy.test.ts.
 * Three things stay behind. What was counted for a guard goes on with what is counted from then on. What processes report of themselves is over when they have stopped. What a store remembers of
 * the last batch and the last flush of each process is for that process alone: it sends a batch again whose reply was lost. A process that
 * starts anew has another name.
 */

/** The counters of one user or organisation, or of everybody, by category. */
export interface Owner {
  readonly scope: ScopeName
  /** Empty for everybody. */
  readonly id: string
  readonly counters: ReadonlyMap<string, Counter>
  /** What was used in runs before, as both stores keep it (packed-history.ts). Default nothing. */
  readonly history?: Uint8Array
  /** When all of it may be forgotten, in milliseconds since the epoch. Default with the last window. */
  readonly ends?: number
}

/** A user whose first charge is remembered. */
export interface RememberedUser {
  readonly user: string
  /** Both in milliseconds since the epoch: when that was, and when it is forgotten. */
  readonly first: number
  readonly ends: number
}

/** What the last credential of a user named. */
export interface RememberedMember extends Membership {
  readonly user: string
  /** When it is forgotten, in milliseconds since the epoch. */
  readonly ends: number
}

/** What the last credential of a user of an organisation named. */
export interface RememberedNamed extends Named {
  readonly organisation: string
  readonly ends: number
}

/** The lists that a store holds, by what an entry of each is. What the implementations of Copyable do is a table of these. */
export interface Lists {
  readonly memberships: RememberedMember
  readonly named: RememberedNamed
  /** One entry, behind counters: without them it says nothing. */
  readonly counted: { readonly since: CountedSince; readonly keeping: KeptStates }
  readonly counters: Owner
  readonly known: RememberedUser
  readonly tokens: AccessKeyRecord
  /** One entry. */
  readonly settings: Versioned<Packed<Changes>>
  readonly overrides: readonly [user: string, Versioned<Packed<UserOverride>>]
  readonly organisationOverrides: readonly [organisation: string, Versioned<Packed<OrganisationOverride>>]
  readonly grants: readonly [id: string, Versioned<GivenGrant>]
  readonly audit: AuditEntry
  readonly failures: Bucket
  readonly series: SeriesEntry
  /** Comes behind series: without them it says nothing. */
  readonly silences: Silence
  readonly refusals: Episode
}

/** A part of a list. Never empty. */
export type Portion = {
  [K in keyof Lists]: { readonly kind: K; readonly entries: readonly Lists[K][] }
}[keyof Lists]

/** Entries of a list as a portion, or none. */
export function* portionOf<K extends keyof Lists>(kind: K, entries: readonly Lists[K][]): Generator<Portion, void> {
  if (entries.length > 0) yield { kind, entries } as unknown as Portion
}

/** A store as it is read and filled by whoever copies it. */
export interface Copyable {
  /** Resolves when the store can be used. @throws StoreError */
  ping(): Promise<void>
  readonly listReplicas: ReplicaStore['listReplicas']
  /**
   * All that the store holds, in portions that hold it for a moment each. Windows that have ended are left out, unless what was used in them is to be kept. What
   * others write meanwhile may be in it or not. What is there from beginning to end is in it, perhaps twice.
   * @throws StoreError
   */
  portions(): AsyncGenerator<Portion, void>
  /** Begins to put something else instead of all that the store holds. @throws StoreError */
  refill(): Promise<Refill>
  /** The mark of a refill that has not ended; `null` for none. @throws StoreError */
  unfinished(): Promise<string | null>
  close(): Promise<void>
}

export interface Refill {
  /** What `unfinished` returns from now on until `done`; `null` if nothing is there before that. */
  readonly mark: string | null
  /** Takes away all that the store held. @throws StoreError */
  clear(): Promise<void>
  /** Putting a portion twice is as putting it once. @throws StoreError */
  put(portion: Portion): Promise<void>
  /** From now on the store is whole. @throws StoreError */
  done(): Promise<void>
  /** Gives up before `clear`: the store is as it was. */
  abandon(): Promise<void>
}

/**
 * The windows that are to be copied: those that run, and also those that are over where the counters outlive all of them, for what was
 * used in these is to be kept.
 * @param ends when the store forgets the counters
 */
export function lastingOf(
  counters: ReadonlyMap<string, Counter>,
  ends: number,
  now: number,
): ReadonlyMap<string, Counter> {
  const last = Math.max(0, ...[...counters.values()].map(endsAt))
  // Times to live are read a moment after the counters.
  const isKept = ends > last + 1000
  const lasting = [...counters].map(([name, counter]) => [name, isKept ? counter : running(counter, now)] as const)
  return new Map(lasting.filter(([, counter]) => counter.length > 0))
}

/**
 * How many entries of each list were copied, and of the counters how many users, organisations, windows, and categories that have one of
 * everybody. What is missing is none.
 */
export type Copied = Partial<Record<keyof Lists | 'users' | 'organisations' | 'windows' | 'everybody', number>>

/** Why nothing was copied, and what to do. Nothing was changed. */
class NotCopied extends Error {}

export interface CopyOptions {
  readonly from: Copyable
  readonly to: Copyable
  /** Copies also while gateways are alive, from half a copy, and instead of what the target holds. */
  readonly force: boolean
  /** Called after each portion. */
  readonly progress: (copied: Readonly<Copied>) => void
}

/**
 * Copies a store. A copy that breaks off leaves the target either as it was, or marked. The next copy then begins anew
 * without being forced.
 * @throws NotCopied, or another Error if a store fails
 */
export async function copyStore({ from, to, force, progress }: CopyOptions): Promise<Copied> {
  if (!force) await checkReady(from, to)
  const portions = from.portions()
  const first = await portions.next()
  if (first.done) throw new NotCopied('--from holds nothing: check the URL, and the prefix of its keys')
  const copied: Copied = {}
  const refill = await to.refill()
  await checkApart(from, refill)
  try {
    await refill.clear()
    for (let next: IteratorResult<Portion, void> = first; !next.done; next = await portions.next()) {
      await refill.put(next.value)
      count(next.value, copied)
      progress(copied)
    }
    await refill.done()
  } catch (error) {
    const why = messageOf(error)
    throw new Error(`the copy broke off (${why}): run the command again, it begins anew`, { cause: error })
  }
  return copied
}

async function checkReady(from: Copyable, to: Copyable): Promise<void> {
  await checkAlone('--from', from)
  await checkAlone('--to', to)
  if ((await from.unfinished()) !== null) {
    throw new NotCopied('--from is half a copy itself: finish that one first, or take what is there with --force')
  }
  if ((await to.unfinished()) === null && !(await isEmpty(to))) {
    throw new NotCopied('--to is not empty: name an empty store, or replace all that it holds with --force')
  }
}

async function checkAlone(which: string, store: Copyable): Promise<void> {
  const alive = await store.listReplicas()
  if (alive.length === 0) return
  const names = alive.slice(0, 3).map(({ host, pid, silentMs }) => `${host} pid ${pid}, ${seconds(silentMs)} ago`)
  const more = alive.length > 3 ? ` and ${alive.length - 3} more` : ''
  throw new NotCopied(
    `a gateway uses ${which} (${names.join('; ')}${more}): stop it, or wait 15 seconds where it was killed; with --force it is copied all the same, and what is charged meanwhile may be missing`,
  )
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`

async function isEmpty(store: Copyable): Promise<boolean> {
  for await (const _ of store.portions()) return false
  return true
}

/** Two URLs may name one store: it would be emptied before it was read. */
async function checkApart(from: Copyable, refill: Refill): Promise<void> {
  if (refill.mark === null || (await from.unfinished()) !== refill.mark) return
  await refill.abandon()
  throw new NotCopied('--from and --to are the same store')
}

function count({ kind, entries }: Portion, copied: Copied): void {
  const add = (name: keyof Copied, more: number): void => {
    copied[name] = (copied[name] ?? 0) + more
  }
  add(kind, entries.length)
  if (kind !== 'counters') return
  for (const { scope, counters } of entries) {
    if (scope === 'global') add('everybody', counters.size)
    else add(scope === 'personal' ? 'users' : 'organisations', 1)
    for (const counter of counters.values()) add('windows', counter.length)
  }
}
