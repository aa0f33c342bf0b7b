import * as z from 'zod'
import type { Backend } from './backend.ts'
import type { Refusal } from './errors.ts'
import { at } from './protocol.ts'
import { chunkNumbers, playerKeys, snapshotId } from './schemas/requests.ts'
import { MAX_CHUNKS, remember } from './snapshots.ts'

/**
 * A chunk that was refused. Its snapshot does not know the charts that it names. If the client continued all the same, the
 * end of the snapshot would delete their scores. So a snapshot deletes nothing if a refused chunk has not come again.
 */
export interface RefusedChunk {
  readonly qq: number
  readonly snapshotId: string
  /** `null`: the chunk had no number. */
  readonly chunkCount: number | null
  /** The hash of its records; `null`: they cannot be read, so it stays unknown whether the chunk came again. */
  readonly hash: Uint8Array | null
}

/** The part of a chunk that identifies its player and its snapshot. */
const identity = z
  .object({ ...playerKeys, ...chunkNumbers, full_snapshot: z.literal(true), snapshot_id: snapshotId })
  .extend({ chunk_index: chunkNumbers.chunk_index.catch(null), chunk_count: chunkNumbers.chunk_count.catch(null) })

/** @returns the identity of a malformed chunk; `null` for a body that is no chunk, or names no player */
function refusedChunkIn(body: unknown): RefusedChunk | null {
  const { data } = identity.safeParse(body)
  const qq = data?.qq ?? data?.player_id
  if (data === undefined || qq === undefined) return null
  const isNumbered = data.chunk_index != null && data.chunk_count != null
  return { qq, snapshotId: data.snapshot_id, chunkCount: isNumbered ? (data.chunk_count ?? null) : null, hash: null }
}

/** Remembers that a chunk was refused. It runs inside a transaction of the caller. */
export function noteRefused({ store, clock, snapshotIdleMs: idleMs }: Backend, chunk: RefusedChunk): void {
  const { snapshots } = store
  const { qq, snapshotId: id, chunkCount, hash } = chunk
  const now = clock()
  const known = at(snapshots.find(qq, id), { now, idleMs })
  const snapshot = known ?? snapshots.refuse(qq, { id, chunkCount, keepsAll: false }, now)
  if (known === null) snapshots.prune(qq, remember({ now, idleMs }))
  // Where chunks have numbers, these already show which chunks have not come.
  const isNumbered = snapshot.state === 'open' ? snapshot.chunkCount !== null : chunkCount !== null
  if (isNumbered || (snapshot.state !== 'open' && snapshot.state !== 'refused')) return
  if (hash === null || snapshots.chunks(snapshot) >= MAX_CHUNKS) snapshots.keepAll(snapshot)
  else snapshots.owe(snapshot, hash)
}

/** Remembers a chunk whose body is malformed, and returns its refusal. */
export async function refuseChunk(backend: Backend, body: unknown, refusal: Refusal): Promise<Refusal> {
  const chunk = refusedChunkIn(body)
  if (chunk !== null) await backend.store.write(() => noteRefused(backend, chunk))
  return refusal
}
