import { type Refusal, refuse } from './errors.ts'

/** The protocol of snapshots that arrive in chunks, without the parts that need stored scores. */

/**
 * | State | Means |
 * |---|---|
 * | open | more chunks may come |
 * | closed | its end has come, and the scores that it did not have are deleted, unless it keeps all |
 * | expired | it was idle for too long: its scores stay, nothing is deleted |
 * | abandoned | the client gave it up: its scores stay, nothing is deleted |
 * | refused | a chunk of it was refused before it began; it may still begin |
 */
export type SnapshotState = 'open' | 'closed' | 'expired' | 'abandoned' | 'refused'

/** A snapshot that is remembered. */
export interface Snapshot {
  /** Numbers rise in the order in which snapshots begin. */
  readonly number: number
  readonly id: string
  readonly state: SnapshotState
  readonly openedAt: number
  /** The time of its last chunk. */
  readonly touchedAt: number
  /** `null`: its chunks have no numbers. */
  readonly chunkCount: number | null
  /** Its end deletes nothing, because not all charts that it names are known. */
  readonly keepsAll: boolean
  /** How many scores its end has deleted. */
  readonly removed: number
}

/** The known snapshots of a player when a request comes. */
export interface Known {
  /** The snapshot that the request names. */
  readonly named: Snapshot | null
  /** The snapshot that began last. */
  readonly newest: Snapshot | null
}

/** The intent of a request. */
export interface Intent {
  readonly isFull: boolean
  /** `null`: a snapshot in one request, or no snapshot at all. */
  readonly snapshotId: string | null
  readonly isFinal: boolean
}

/** How the records of a request are treated. */
export type Step =
  /** Incremental: the records raise stored scores. `marks`: an open snapshot must not delete them at its end. */
  | { readonly kind: 'raise'; readonly marks: boolean }
  /** Nothing is done: a finished snapshot has the records already. */
  | { readonly kind: 'repeat' }
  /** The records come late to a finished snapshot: they raise stored scores and delete nothing. */
  | { readonly kind: 'add'; readonly snapshot: Snapshot }
  /** The records overwrite stored scores. `snapshot`: `null` if it begins; `closes`: it ends with these records. */
  | { readonly kind: 'overwrite'; readonly snapshot: Snapshot | null; readonly closes: boolean }

export interface Moment {
  readonly now: number
  /** After so many milliseconds without a chunk an open snapshot has expired. */
  readonly idleMs: number
}

/** The snapshot as it is now. It has also expired if its last chunk is later than now by `idleMs`: the clock was set back. */
export function at<T extends Snapshot | null>(snapshot: T, { now, idleMs }: Moment): T {
  const isExpired = snapshot?.state === 'open' && Math.abs(now - snapshot.touchedAt) > idleMs
  return isExpired ? { ...snapshot, state: 'expired' } : snapshot
}

/** @param isKnown whether the named snapshot has had exactly these records already */
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
