import type { AccessKeyRecord } from '../control/access-key-store.ts'
import type { AuditEntry } from '../control/control-store.ts'
import type { Changes, GivenGrant, OrganisationOverride, Packed, UserOverride, Versioned } from '../control/state.ts'
import { messageOf } from '../errors.ts'
import type { Bucket } from '../failures/histogram.ts'
import type { ScopeName } from '../quota/charged-scopes.ts'
import { type Counter, endsAt, running } from '../quota/counter.ts'
import type { CountedSince, KeptStates } from '../quota/history-store.ts'
import type { ReplicaStore } from '../replicas/presence.ts'
import type { Episode } from '../usage/episodes.ts'
import type { SeriesEntry } from '../usage/series.ts'
import type { Silence } from '../usage/silence.ts'
import type { COPIED_LISTS, Ending } from './endings.ts'

/**
 * Copies a whole store into another one. Every implementation passes test/store/copy.test.ts. Entries that matter for a short time only are
 * not copied. docs/stored-data.md names them, for example events of alerts, remembered charges and what is left of forgotten users. A guard
 * goes on with what is counted after the copy. What processes report about themselves is over when they stop. And what a store remembers of
 * the last batch and flush of a process serves only that process, which sends a batch again if the reply was lost. A new process has
 * another name.
 */

/** The counters of one user or organisation, or of everybody, by category. */
export interface Owner {
  readonly scope: ScopeName
  /** Empty for everybody. */
  readonly id: string
  readonly counters: ReadonlyMap<string, Counter>
  /** What was used in earlier runs, as both stores keep it (packed-history.ts). Default nothing. */
  readonly history?: Uint8Array
  /** When the whole entry may be forgotten, in milliseconds since the epoch. Default when its last window ends. */
  readonly ends?: number
}

/** The lists that a store holds, each with the type of its entries. Tables with these keys implement Copyable. */
export interface Lists extends Record<(typeof COPIED_LISTS)[number], Ending> {
  /** One entry. It comes after the counters, because it says nothing without them. */
  readonly counted: { readonly since: CountedSince; readonly keeping: KeptStates }
  readonly counters: Owner
  readonly tokens: AccessKeyRecord
  /** One entry. */
  readonly settings: Versioned<Packed<Changes>>
  readonly overrides: readonly [user: string, Versioned<Packed<UserOverride>>]
  readonly organisationOverrides: readonly [organisation: string, Versioned<Packed<OrganisationOverride>>]
  readonly grants: readonly [id: string, Versioned<GivenGrant>]
  readonly audit: AuditEntry
  readonly failures: Bucket
  readonly series: SeriesEntry
  /** They come after the series, because they say nothing without them. */
  readonly silences: Silence
  readonly refusals: Episode
}

/** A part of a list. Never empty. */
export type Portion = {
  [K in keyof Lists]: { readonly kind: K; readonly entries: readonly Lists[K][] }
}[keyof Lists]

/** Yields the entries of a list as a portion, or nothing if there are none. */
export function* portionOf<K extends keyof Lists>(kind: K, entries: readonly Lists[K][]): Generator<Portion, void> {
  if (entries.length > 0) yield { kind, entries } as unknown as Portion
}

/** A store that can be read and filled by a copy. */
export interface Copyable {
  /** Resolves when the store can be used. @throws StoreError */
  ping(): Promise<void>
  readonly listReplicas: ReplicaStore['listReplicas']
  /**
   * Everything in the store, in portions that each hold the store for a moment. Windows that have ended are left out, unless their usage is
   * to be kept. Writes during the copy may be in it or not. Whatever is there from beginning to end is copied, perhaps twice.
   * @throws StoreError
   */
  portions(): AsyncGenerator<Portion, void>
  /** Begins to replace everything that the store holds. @throws StoreError */
  refill(): Promise<Refill>
  /** The mark of a refill that has not ended; `null` for none. @throws StoreError */
  unfinished(): Promise<string | null>
  close(): Promise<void>
}

export interface Refill {
  /** What `unfinished` returns until `done` is called; `null` if the store shows nothing before that. */
  readonly mark: string | null
  /** Deletes everything that a copy may fill, and what belongs to it. @throws StoreError */
  clear(): Promise<void>
  /** Adds a portion. Adding it twice has the same effect as adding it once. @throws StoreError */
  put(portion: Portion): Promise<void>
  /** Ends the refill, so that the store counts as whole. @throws StoreError */
  done(): Promise<void>
  /** Gives up before `clear`, which leaves the store as it was. */
  abandon(): Promise<void>
}

/**
 * The windows that are copied. These are the windows that run. If the counters are kept longer than all of their windows, ended
 * windows are copied as well, because their usage is to be kept.
 * @param ends when the store forgets the counters
 */
export function lastingOf(
  counters: ReadonlyMap<string, Counter>,
  ends: number,
  now: number,
): ReadonlyMap<string, Counter> {
  const last = Math.max(0, ...[...counters.values()].map(endsAt))
  // Times to live are read a moment after the counters, so a second is allowed for that.
  const isKept = ends > last + 1000
  const lasting = [...counters].map(([name, counter]) => [name, isKept ? counter : running(counter, now)] as const)
  return new Map(lasting.filter(([, counter]) => counter.length > 0))
}

/**
 * How many entries of each list were copied. For counters it also says how many users, organisations and windows, and how many
 * categories have a counter of everybody. A missing number is 0.
 */
export type Copied = Partial<Record<keyof Lists | 'users' | 'organisations' | 'windows' | 'everybody', number>>

/** Says why nothing was copied and what to do. Nothing was changed. */
class NotCopied extends Error {}

export interface CopyOptions {
  readonly from: Copyable
  readonly to: Copyable
  /** Whether to copy even if gateways are alive, if the source is half a copy, or if the target is not empty. */
  readonly force: boolean
  /** Called after each portion. */
  readonly progress: (copied: Readonly<Copied>) => void
}

/**
 * Copies a store. If the copy breaks off, the target is either unchanged or marked. A marked target needs no force for the next copy.
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

/** Two URLs may name the same store, which would be emptied before it is read. */
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
