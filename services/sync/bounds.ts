import { type Refusal, refuse } from './errors.ts'
import type { Judged } from './judge.ts'
import { conflict, missingFrom, type Snapshot, type Step } from './protocol.ts'
import { keyOf } from './record.ts'
import type { SyncRequest } from './schemas/requests.ts'
import { type ChunkTrace, MAX_CHUNKS } from './snapshots.ts'
import type { Store } from './store.ts'

/** Limits of a request beyond the steps of the protocol. */

/**
 * The most scores of one player, several times as many as the game has charts. All scores of a player are read at each
 * sync, and nobody else is served meanwhile. Without a bound a client that invents songs would make each sync longer.
 */
const MAX_STORED = 20_000

/** A request whose records are judged. */
export interface Sync {
  readonly request: SyncRequest
  readonly judged: Judged
  readonly trace: ChunkTrace
}

export function refusalOf(store: Store, sync: Sync, step: Step): Refusal | null {
  if (step.kind === 'repeat') return null
  const excess = refusalToGrow(store, sync.request.qq, sync.judged.records)
  if (step.kind === 'raise') return excess
  const refusal = (step.snapshot && refusalOfNumber(store, sync, step.snapshot)) ?? excess
  return refusal ?? (step.kind === 'overwrite' && step.closes ? refusalToClose(store, sync, step.snapshot) : null)
}

export function refusalToGrow({ records }: Store, qq: number, more: Judged['records']): Refusal | null {
  const stored = records.count(qq)
  if (stored + more.length <= MAX_STORED) return null
  const known = new Set(records.list(qq).map(keyOf))
  const added = more.filter((record) => !known.has(keyOf(record))).length
  return stored + added > MAX_STORED ? refuse(400, `a player has ${MAX_STORED} scores at most`) : null
}

/** Checks number and count of a chunk. They show whether chunks are lost, so they may not change. */
function refusalOfNumber({ snapshots }: Store, { request, trace }: Sync, snapshot: Snapshot): Refusal | null {
  const { chunkCount } = snapshot
  const open = snapshot.state === 'open' ? snapshot : null
  if (request.chunkCount !== chunkCount) return conflict('chunk_count_changed', open, { chunk_count: chunkCount })
  if (chunkCount !== null) {
    const { index } = trace
    return snapshots.isTaken(snapshot, trace) ? conflict('chunk_index_taken', open, { chunk_index: index }) : null
  }
  const isFull = snapshots.chunks(snapshot) >= MAX_CHUNKS && !snapshots.hasSeen(snapshot, trace.hash)
  return isFull ? refuse(400, `a snapshot has ${MAX_CHUNKS} chunks at most`) : null
}

/** A snapshot may not end if a chunk is missing, or if it has no score at all. */
function refusalToClose(store: Store, { request, judged }: Sync, snapshot: Snapshot | null): Refusal | null {
  const { snapshots, records } = store
  const { qq, chunkCount, chunkIndex } = request
  if (chunkCount !== null && chunkIndex !== null) {
    const received = snapshot === null ? new Set<number>() : snapshots.indexes(snapshot)
    const missing = missingFrom(received.add(chunkIndex), chunkCount)
    if (missing.length > 0) return conflict('missing_chunks', snapshot, { missing_chunks: missing })
  }
  const isEmpty = judged.records.length === 0 && (snapshot === null || !records.hasChunk(qq))
  return isEmpty ? refuse(400, 'the snapshot has no valid record') : null
}
