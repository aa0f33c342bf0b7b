import { type Refusal, refuse } from './errors.ts'

/** The protocol of snapshots that arrive in chunks, as far as it needs no stored scores. */

/** The last snapshot of a player. One that has been idle for too long has expired: its chunks are forgotten, its scores stay. */
export interface Snapshot {
  readonly id: string
  readonly state: 'open' | 'closed' | 'expired'
}

/** What a request wants. */
export interface Intent {
  readonly isFull: boolean
  /** `null`: a snapshot in one request, or no snapshot at all. */
  readonly snapshotId: string | null
  readonly isFinal: boolean
}

/** What is to be done with the records of a request. */
export type Step =
  /** Incremental: they raise what is stored. `marks`: an open snapshot must not delete them at its end. */
  | { readonly kind: 'raise'; readonly marks: boolean }
  /** Nothing: a finished snapshot has them already. */
  | { readonly kind: 'repeat' }
  /** They overwrite what is stored. `opens`: nothing has come before them; `closes`: what the snapshot does not have is deleted. */
  | { readonly kind: 'overwrite'; readonly opens: boolean; readonly closes: boolean }

/** @param isKnown whether the last snapshot has had these very records already */
export function stepOf(last: Snapshot | null, intent: Intent, isKnown: boolean): Step | Refusal {
  const open = last?.state === 'open' ? last : null
  if (!intent.isFull) {
    if (intent.snapshotId !== null) return refuse(400, 'snapshot_id needs full_snapshot')
    return { kind: 'raise', marks: open !== null }
  }
  const isLast = last !== null && last.id === intent.snapshotId
  if (open !== null && !isLast) return conflict(`snapshot ${open.id} is not finished`, open.id)
  if (isLast && last.state === 'closed') return isKnown ? { kind: 'repeat' } : conflict('snapshot_closed', null)
  // Alone it would delete what the chunks before it have written.
  if (isLast && last.state === 'expired' && intent.isFinal) return conflict('snapshot_expired', null)
  return { kind: 'overwrite', opens: open === null, closes: intent.isFinal || intent.snapshotId === null }
}

export function conflict(detail: string, openSnapshotId: string | null, more: object = {}): Refusal {
  return refuse(409, detail, { open_snapshot_id: openSnapshotId, ...more })
}

/** The numbers from 0 to `count` - 1 that have not come. */
export function missingFrom(received: ReadonlySet<number>, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index).filter((index) => !received.has(index))
}
