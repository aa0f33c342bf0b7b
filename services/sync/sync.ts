import { createHash, randomUUID } from 'node:crypto'
import type { Backend, Handler } from './backend.ts'
import { refusalOf, type Sync } from './bounds.ts'
import { isRefusal, type Refusal, readBy, UPLOADING } from './errors.ts'
import { judgeRecords } from './judge.ts'
import { at, type Known, type Moment, type Snapshot, type Step, stepOf } from './protocol.ts'
import { noteRefused, refuseChunk } from './refused-chunks.ts'
import type { SyncResponse } from './schemas/answers.ts'
import { type SyncRequest, syncBody } from './schemas/requests.ts'
import { remember } from './snapshots.ts'
import { updateStanding } from './standing.ts'
import type { Store } from './store.ts'
import { type Counts, writeRecords } from './writes.ts'

/** POST /api/bot/sync: stores records, alone or as a part of a snapshot. */
export const syncScores: Handler = async (backend, { body }) => {
  const request = readBy(syncBody, body, 'body')
  if (isRefusal(request)) return refuseChunk(backend, body, request)
  const { uploading, store, catalogue } = backend
  if (uploading.has(request.qq)) return UPLOADING
  uploading.add(request.qq)
  try {
    const judged = judgeRecords(request.records, catalogue)
    const hash = createHash('sha256').update(JSON.stringify(request.records)).digest()
    const sync = { request, judged, trace: { hash, index: request.chunkIndex } }
    return await store.write(() => carryOut(backend, sync))
  } finally {
    uploading.delete(request.qq)
  }
}

/** Runs inside one transaction. A refusal comes before the first change of a score. */
function carryOut(backend: Backend, sync: Sync): SyncResponse | Refusal {
  const { store, clock, snapshotIdleMs: idleMs } = backend
  const { request, trace } = sync
  const moment = { now: clock(), idleMs }
  const known = knownOf(store, request, moment)
  const isKnown = known.named !== null && store.snapshots.hasSeen(known.named, trace.hash)
  const step = stepOf(known, request, isKnown, moment)
  if (isRefusal(step)) return refused(backend, sync, step)
  const refusal = refusalOf(store, sync, step)
  return refusal === null ? take(backend, sync, step, known, moment) : refused(backend, sync, refusal)
}

function refused(backend: Backend, { request, trace }: Sync, refusal: Refusal): Refusal {
  const { qq, isFull, snapshotId, chunkCount, records } = request
  const isChunk = isFull && snapshotId !== null && records.length > 0
  if (isChunk) noteRefused(backend, { qq, snapshotId, chunkCount, hash: trace.hash })
  return refusal
}

function knownOf({ snapshots }: Store, { qq, snapshotId }: SyncRequest, moment: Moment): Known {
  const named = snapshotId === null ? null : snapshots.find(qq, snapshotId)
  return { named: at(named, moment), newest: at(snapshots.newest(qq), moment) }
}

function take({ store, catalogue }: Backend, sync: Sync, step: Step, known: Known, moment: Moment): SyncResponse {
  const { request, judged } = sync
  const { qq, records } = request
  if (step.kind === 'repeat') {
    return responseOf(sync, { imported: 0, updated: 0, skipped: records.length }, store.records.count(qq), NOTHING)
  }
  const snapshot = snapshotOf(store, sync, step, known, moment)
  const counts = writeRecords(store.records, qq, judged, step)
  const end = step.kind === 'overwrite' && snapshot !== null ? endOf(store, qq, snapshot, step.closes) : NOTHING
  const unusable = records.length - judged.records.length
  const stored = updateStanding(store, catalogue, qq, request, moment.now)
  return responseOf(sync, { ...counts, skipped: counts.skipped + unusable }, stored, end)
}

/** Adds the records as a chunk to their snapshot, which begins if need be. `null` if they belong to no snapshot. */
function snapshotOf(
  store: Store,
  sync: Sync,
  step: Exclude<Step, { kind: 'repeat' }>,
  { named }: Known,
  moment: Moment,
): Snapshot | null {
  if (step.kind === 'raise') return null
  const { snapshots } = store
  const snapshot = step.snapshot ?? begin(store, sync, named, moment)
  snapshots.addChunk(snapshot, sync.trace, moment.now)
  if (!sync.judged.named.isUnclear) return snapshot
  snapshots.keepAll(snapshot)
  return { ...snapshot, keepsAll: true }
}

/** @param refused the snapshot in the state `refused`, if earlier chunks of it were refused */
function begin(store: Store, { request }: Sync, refused: Snapshot | null, moment: Moment): Snapshot {
  const { qq, snapshotId, chunkCount } = request
  const keepsAll = refused !== null && (refused.keepsAll || refused.chunkCount !== chunkCount)
  store.records.clearMarks(qq)
  const beginning = { id: snapshotId ?? randomUUID(), chunkCount, keepsAll }
  const snapshot = store.snapshots.begin(qq, beginning, moment.now)
  store.snapshots.prune(qq, remember(moment))
  return snapshot
}

/** The results of a snapshot's end. */
interface End {
  /** The number of deleted scores; `null`: the end has not come yet. */
  readonly removed: number | null
  readonly warnings: readonly string[]
}

const NOTHING: End = { removed: 0, warnings: [] }
const KEPT = 'nothing was deleted: a record names no song, or a chunk was refused and has not come again'

/** Deletes the scores that the snapshot does not have, if all of its charts are known. */
function endOf({ snapshots, records }: Store, qq: number, snapshot: Snapshot, closes: boolean): End {
  if (!closes) return { removed: null, warnings: [] }
  const keepsAll = snapshot.keepsAll || snapshots.isOwed(snapshot)
  const removed = keepsAll ? 0 : records.deleteUnmarked(qq, snapshot.number)
  snapshots.end(snapshot, 'closed', removed)
  return { removed, warnings: keepsAll ? [KEPT] : [] }
}

function responseOf(
  { request, judged }: Sync,
  counts: Counts,
  stored: number,
  { removed, warnings }: End,
): SyncResponse {
  const all = [...judged.warnings, ...warnings]
  return {
    status: removed === null ? 'partial' : 'ok',
    snapshot_id: request.snapshotId,
    ...counts,
    stored_records: stored,
    ...(removed !== null && { removed }),
    errors: [...judged.errors],
    ...(all.length > 0 && { warnings: all }),
  }
}
