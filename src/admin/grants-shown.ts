import type { GrantResponse } from '../contract/api.ts'
import { isLive } from '../control/grants.ts'
import { type ControlState, type GivenGrant, storedOf } from '../control/state.ts'
import type { HistoryScope, HistoryStore } from '../quota/history-store.ts'
import { iso } from './http.ts'

type History = Awaited<ReturnType<HistoryStore['readHistory']>>

/** What was taken of the grants of one owner. */
export interface Taken {
  /** The store's time of the reading. */
  readonly at: number
  readonly byGrant: ReadonlyMap<string, number>
}

/** It goes through all that is kept of the owner. */
export function takenIn({ at, history }: Pick<History, 'at' | 'history'>): Taken {
  return { at, byGrant: history.takenOf() }
}

/** A grant as the API shows it. @param read of its owner */
export function grantShown(id: string, grant: GivenGrant, { at, byGrant }: Taken): GrantResponse {
  const { user, organisation, category, tokens, givenAt, until, endedAt, reason } = grant
  const taken = byGrant.get(id) ?? 0
  return {
    id,
    ...(user === undefined ? { organisation } : { user }),
    ...{ category, tokens, taken, left: Math.max(0, tokens - taken) },
    givenAt: iso(givenAt),
    until: iso(until),
    endedAt: endedAt === null ? null : iso(endedAt),
    live: isLive(grant, at),
    reason,
  }
}

/** All grants of one user or organisation, those that have ended too, the newest first. */
export function grantsOfOwner(
  state: ControlState,
  scope: HistoryScope,
  owner: string,
  read: Pick<History, 'at' | 'history'>,
): GrantResponse[] {
  const isOf = ({ user, organisation }: GivenGrant) => (scope === 'personal' ? user : organisation) === owner
  const own = [...storedOf(state).grants].filter(([, { value }]) => isOf(value))
  if (own.length === 0) return []
  const taken = takenIn(read)
  return own
    .sort(([, a], [, b]) => b.value.givenAt - a.value.givenAt)
    .map(([id, { value }]) => grantShown(id, value, taken))
}
