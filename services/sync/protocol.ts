import { type Refusal, refuse } from './errors.ts'

/** The protocol of snapshots that arrive in chunks, as far as it needs no stored scores. */

/**
 * | State | Means |
 * |---|---|
 * | open | more chunks may come |
 * | closed | its end has come, and what it did not have is deleted |
 * | expired | it was idle for too long: its scores stay, nothing is deleted |
 * | abandoned | the client gave it up: the same |
 * | refused | a chunk of it was refused before it began; it may still begin |
 */
export type SnapshotState = 'open' | 'closed' | 'expired' | 'abandoned' | 'refused'

/** A snapshot that is remembered. */
export interface Snapshot {
  /** In the order in which snapshots begin. */
  readonly number: number
  readonly id: string
  readonly state: SnapshotState
  readonly openedAt: number
  /** When its last chunk came. */
  readonly touchedAt: number
  /** `null`: its chunks have no numbers. */
  readonly chunkCount: number | null
  /** Its end deletes nothing, because nobody knows all that it names. */
  readonly keepsAll: boolean
  /** How many scores its end has deleted. */
  readonly removed: number
}

/** What is known of a player's snapshots when a request comes. */
export interface Known {
  /** The one that the request names. */
  readonly named: Snapshot | null
  /** The one that has begun last. */
  readonly newest: Snapshot | null
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
  /** They come late to a finished snapshot: they raise what is stored and delete nothing. */
  | { readonly kind: 'add'; readonly snapshot: Snapshot }
  /** They overwrite what is stored. `snapshot`: what has come before them; `closes`: what the snapshot does not have is deleted. */
  | { readonly kind: 'overwrite'; readonly snapshot: Snapshot | null; readonly closes: boolean }

export interface Moment {
  readonly now: number
  /** An open snapshot without a chunk for longer has expired; milliseconds. */
  readonly idleMs: number
}

/** The snapshot as it is now. One whose last chunk came later than now has no better clock than one of long ago. */
export function at<T extends Snapshot | null>(snapshot: T, { now, idleMs }: Moment): T {
  const isExpired = snapshot?.state === 'open' && Math.abs(now - snapshot.touchedAt) > idleMs
  return isExpired ? { ...snapshot, state: 'expired' } : snapshot
}

/** @param isKnown whether the named snapshot has had these very records already */
export function stepOf({ named, newest }: Known, intent: Intent, isKnown: boolean, moment: Moment): Step | Refusal {
  const open = newest?.state === 'open' ? newest : null
  if (!intent.isFull) {
    if (intent.snapshotId !== null) return refuse(400, 'snapshot_id needs full_snapshot')
    return { kind: 'raise', marks: open !== null }
  }
  if (named !== null && (named.state === 'expired' || named.state === 'abandoned')) {
    return conflict(`snapshot_${named.state}`, open)
  }
  if (named?.state === 'closed') {
    if (isKnown) return { kind: 'repeat' }
    return named.number === newest?.number ? { kind: 'add', snapshot: named } : conflict('snapshot_closed', open)
  }
  if (open !== null && open.id !== intent.snapshotId) return unfinished(open, moment)
  return { kind: 'overwrite', snapshot: open, closes: intent.isFinal || intent.snapshotId === null }
}

/** Waiting helps here: the open snapshot ends, or it expires. */
function unfinished(open: Snapshot, { now, idleMs }: Moment): Refusal {
  const left = open.touchedAt + idleMs + 1 - now
  return { ...conflict(`snapshot ${open.id} is not finished`, open), retryAfter: Math.ceil(left / 1000) }
}

export function conflict(detail: string, open: Snapshot | null, more: object = {}): Refusal {
  return refuse(409, detail, { open_snapshot_id: open?.id ?? null, ...more })
}

/** The numbers from 0 to `count` - 1 that have not come. */
export function missingFrom(received: ReadonlySet<number>, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index).filter((index) => !received.has(index))
}
