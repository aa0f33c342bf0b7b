import type { GrantResponse } from '../contract/api.ts'
import { isLive } from '../control/grants.ts'
import { type ControlState, type GivenGrant, type StoredControl, storedOf, type Versioned } from '../control/state.ts'
import type { HistoryScope, HistoryStore } from '../quota/history-store.ts'
import { iso, isoOrNull } from './http.ts'

type History = Awaited<ReturnType<HistoryStore['readHistory']>>

/** Tokens that were taken from the grants of one owner. */
interface Taken {
  /** The store's time of the reading. */
  readonly at: number
  readonly byGrant: ReadonlyMap<string, number>
}

/** Walks through everything that is kept of the owner. */
function takenIn({ at, history }: Pick<History, 'at' | 'history'>): Taken {
  return { at, byGrant: history.takenOf() }
}

/** A grant in the form of the API. @param taken what was taken from all grants of its owner */
function grantShown(id: string, grant: GivenGrant, { at, byGrant }: Taken): GrantResponse {
  const { user, organisation, category, tokens, givenAt, until, endedAt, reason } = grant
  const taken = byGrant.get(id) ?? 0
  return {
    id,
    ...(user === undefined ? { organisation } : { user }),
    ...{ category, tokens, taken, left: Math.max(0, tokens - taken) },
    givenAt: iso(givenAt),
    until: iso(until),
    endedAt: isoOrNull(endedAt),
    live: isLive(grant, at),
    reason,
  }
}

/** @throws StoreError */
export async function shownGrant(store: Kept, id: string, grant: GivenGrant): Promise<GrantResponse> {
  return grantShown(id, grant, await takenOfOwner(store, grant))
}

type Kept = Pick<HistoryStore, 'readHistory'>

async function takenOfOwner(store: Kept, { user, organisation = '' }: GivenGrant): Promise<Taken> {
  const read =
    user === undefined ? store.readHistory('organisation', organisation) : store.readHistory('personal', user)
  return takenIn(await read)
}

/**
 * Grants of one owner or of all, even ended ones, newest first. The history of an owner may be long, so owners are read one after the
 * other, and each of them once.
 * @param most how many to show @throws StoreError, or the reason of the signal
 */
export async function grantsShown(
  store: Kept,
  { grants: all }: Pick<StoredControl, 'grants'>,
  { user, organisation }: { readonly user?: string | undefined; readonly organisation?: string | undefined },
  { most, signal }: { readonly most: number; readonly signal?: AbortSignal },
): Promise<{ readonly grants: GrantResponse[]; readonly total: number }> {
  const wanted = [...all].filter(
    ([, { value }]) =>
      (user === undefined || value.user === user) &&
      (organisation === undefined || value.organisation === organisation),
  )
  const newest = newestFirst(wanted).slice(0, most)
  const byOwner = new Map<string, Taken>()
  const grants: GrantResponse[] = []
  for (const [id, { value }] of newest) {
    signal?.throwIfAborted()
    const owner = JSON.stringify([value.user, value.organisation])
    const taken = byOwner.get(owner) ?? (await takenOfOwner(store, value))
    byOwner.set(owner, taken)
    grants.push(grantShown(id, value, taken))
  }
  return { grants, total: wanted.length }
}

/** All grants of one user or organisation, even ended ones, newest first. */
export function grantsOfOwner(
  state: ControlState,
  scope: HistoryScope,
  owner: string,
  read: Pick<History, 'at' | 'history'>,
): GrantResponse[] {
  const isOf = ({ user, organisation }: GivenGrant) => (scope === 'personal' ? user : organisation) === owner
  const own = newestFirst([...storedOf(state).grants].filter(([, { value }]) => isOf(value)))
  if (own.length === 0) return []
  const taken = takenIn(read)
  return own.map(([id, { value }]) => grantShown(id, value, taken))
}

function newestFirst(grants: (readonly [string, Versioned<GivenGrant>])[]) {
  return grants.sort(([, a], [, b]) => b.value.givenAt - a.value.givenAt)
}
