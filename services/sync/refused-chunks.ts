import * as z from 'zod'
import type { Backend } from './backend.ts'
import type { Refusal } from './errors.ts'
import { at } from './protocol.ts'
import { chunkNumbers, playerKeys, snapshotId } from './schemas/requests.ts'
import { MAX_CHUNKS, remember } from './snapshots.ts'

/**
 * A refused chunk names charts that its snapshot then does not know. If the client continues all the same, they would
 * be deleted at its end. So a snapshot deletes nothing if one of its chunks was refused and has not come again.
 */
export interface RefusedChunk {
  readonly qq: number
  readonly snapshotId: string
  /** `null`: it had no number. */
  readonly chunkCount: number | null
  /** The hash of its records; `null`: they cannot be read, so it stays unknown whether the chunk came again. */
  readonly hash: Uint8Array | null
}

/** The part of a chunk that tells whose it is. */
const identity = z
  .object({ ...playerKeys, ...chunkNumbers, full_snapshot: z.literal(true), snapshot_id: snapshotId })
  .extend({ chunk_index: chunkNumbers.chunk_index.catch(null), chunk_count: chunkNumbers.chunk_count.catch(null) })

/** @returns the identity of a malformed chunk; `null` for a body that is no chunk, or nobody's */
function refusedChunkIn(body: unknown): RefusedChunk | null {
  const { data } = identity.safeParse(body)
  const qq = data?.qq ?? data?.player_id
  if (data === undefined || qq === undefined) return null
  const isNumbered = data.chunk_index != null && data.chunk_count != null
  return { qq, snapshotId: data.snapshot_id, chunkCount: isNumbered ? (data.chunk_count ?? null) : null, hash: null }
}

/** Inside a transaction of the caller. */
export function noteRefused({ store, clock, snapshotIdleMs: idleMs }: Backend, chunk: RefusedChunk): void {
  const { snapshots } = store
  const { qq, snapshotId: id, chunkCount, hash } = chunk
  const now = clock()
  const known = at(snapshots.find(qq, id), { now, idleMs })
  const snapshot = known ?? snapshots.refuse(qq, { id, chunkCount, keepsAll: false }, now)
  if (known === null) snapshots.prune(qq, remember({ now, idleMs }))
  // Numbers alone show which chunks have not come.
  const isNumbered = snapshot.state === 'open' ? snapshot.chunkCount !== null : chunkCount !== null
  if (isNumbered || (snapshot.state !== 'open' && snapshot.state !== 'refused')) return
  if (hash === null || snapshots.chunks(snapshot) >= MAX_CHUNKS) snapshots.keepAll(snapshot)
  else snapshots.owe(snapshot, hash)
}

/** As `noteRefused`, for a body that could not be read. */
export async function refuseChunk(backend: Backend, body: unknown, refusal: Refusal): Promise<Refusal> {
  const chunk = refusedChunkIn(body)
  if (chunk !== null) await backend.store.write(() => noteRefused(backend, chunk))
  return refusal
}
