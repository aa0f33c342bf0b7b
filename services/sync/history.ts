import type { Backend, Handler } from './backend.ts'
import { refusalToGrow } from './bounds.ts'
import { isRefusal, NO_PLAYER, NO_SNAPSHOT, type Refusal, readBy } from './errors.ts'
import { at, conflict, type Moment, missingFrom, type Snapshot } from './protocol.ts'
import { best, isSame, keyOf } from './record.ts'
import { MARK } from './records.ts'
import type { SnapshotResponse, SnapshotsResponse, UndoResponse } from './schemas/answers.ts'
import { numberIn, playerPath, snapshotPath, undoBody } from './schemas/requests.ts'
import { rememberedMs } from './snapshots.ts'
import { NOTHING_TOLD, updateStanding } from './standing.ts'
import type { Store } from './store.ts'

/** Requests about the snapshots of a player, and later changes of them. */

const MAX_LISTED = 100

/** GET /api/bot/player/:qq/snapshots: the remembered snapshots, the newest first. */
export const listSnapshots: Handler = async (backend, { params }) => {
  const path = readBy(playerPath, { qq: numberIn(params.qq) }, 'path')
  if (isRefusal(path)) return path
  const { store } = backend
  return store.read((): SnapshotsResponse | Refusal => {
    const moment = momentOf(backend)
    const snapshots = store.snapshots.list(path.qq, MAX_LISTED).map((snapshot) => shown(store, snapshot, moment))
    return store.players.find(path.qq) === null ? NO_PLAYER : { qq: path.qq, snapshots }
  })
}

/** GET /api/bot/player/:qq/snapshots/:snapshot_id */
export const readSnapshot: Handler = async (backend, { params }) => {
  const path = readBy(snapshotPath, { ...params, qq: numberIn(params.qq) }, 'path')
  if (isRefusal(path)) return path
  const { store } = backend
  return store.read(() => {
    const snapshot = store.snapshots.find(path.qq, path.snapshot_id)
    return snapshot === null ? NO_SNAPSHOT : shown(store, snapshot, momentOf(backend))
  })
}

/** DELETE /api/bot/player/:qq/snapshots/:snapshot_id: gives an open snapshot up. */
export const abandonSnapshot: Handler = async (backend, { params }) => {
  const path = readBy(snapshotPath, { ...params, qq: numberIn(params.qq) }, 'path')
  if (isRefusal(path)) return path
  const { store } = backend
  return store.write(() => {
    const moment = momentOf(backend)
    const snapshot = at(store.snapshots.find(path.qq, path.snapshot_id), moment)
    if (snapshot === null) return NO_SNAPSHOT
    if (snapshot.state === 'closed') return conflict('snapshot_closed', null)
    if (snapshot.state === 'open') store.snapshots.end(snapshot, 'abandoned', 0)
    const state = snapshot.state === 'open' ? 'abandoned' : snapshot.state
    return shown(store, { ...snapshot, state }, moment)
  })
}

/** POST /api/bot/player/:qq/undo: restores the scores that the end of a snapshot has deleted. */
export const undoSnapshot: Handler = async (backend, { params, body }) => {
  const path = readBy(playerPath, { qq: numberIn(params.qq) }, 'path')
  if (isRefusal(path)) return path
  const request = readBy(undoBody, body ?? {}, 'body')
  if (isRefusal(request)) return request
  const id = request.snapshot_id ?? null
  const { snapshots } = backend.store
  return backend.store.write(() => {
    const snapshot = id === null ? snapshots.lastClosed(path.qq) : snapshots.find(path.qq, id)
    return snapshot === null ? NO_SNAPSHOT : putBack(backend, path.qq, snapshot)
  })
}

/** A score that was stored again meanwhile is raised if the deleted one was better, and never lowered. */
function putBack(backend: Backend, qq: number, snapshot: Snapshot): UndoResponse | Refusal {
  const { store, catalogue } = backend
  const { records, snapshots } = store
  const moment = momentOf(backend)
  const removed = records.removedBy(snapshot.number)
  const excess = refusalToGrow(store, qq, removed)
  if (excess !== null) return excess
  // An open snapshot must not delete the restored scores again at its end.
  const mark = at(snapshots.newest(qq), moment)?.state === 'open' ? MARK.incremental : MARK.none
  const stored = new Map(records.list(qq).map((record) => [keyOf(record), record]))
  const counts = { restored: 0, updated: 0, skipped: 0 }
  for (const record of removed) {
    const before = stored.get(keyOf(record))
    const after = before === undefined ? record : best(record, before)
    const isUnchanged = before !== undefined && isSame(before, after)
    counts[before === undefined ? 'restored' : isUnchanged ? 'skipped' : 'updated']++
    records.put(qq, after, (before?.mark ?? MARK.none) | mark)
  }
  const changed = counts.restored + counts.updated > 0
  const count = changed ? updateStanding(store, catalogue, qq, NOTHING_TOLD, moment.now) : records.count(qq)
  return { status: 'ok', snapshot_id: snapshot.id, ...counts, stored_records: count }
}

function momentOf({ clock, snapshotIdleMs }: Backend): Moment {
  return { now: clock(), idleMs: snapshotIdleMs }
}

function shown({ snapshots, records }: Store, stored: Snapshot, moment: Moment): SnapshotResponse {
  const snapshot = at(stored, moment)
  const { id, state, openedAt, touchedAt, chunkCount, removed } = snapshot
  const isOpen = state === 'open'
  const restorable = records.countRemovedBy(snapshot.number)
  return {
    snapshot_id: id,
    state,
    opened_at: timeOf(openedAt),
    updated_at: timeOf(touchedAt),
    expires_at: isOpen ? timeOf(touchedAt + moment.idleMs) : null,
    chunks: snapshots.taken(snapshot),
    chunk_count: chunkCount,
    missing_chunks: chunkCount === null || !isOpen ? [] : missingFrom(snapshots.indexes(snapshot), chunkCount),
    deletes: !(snapshot.keepsAll || snapshots.isOwed(snapshot)),
    removed,
    restorable,
    restorable_until: restorable > 0 ? timeOf(touchedAt + rememberedMs(moment)) : null,
  }
}

function timeOf(time: number): string {
  return new Date(time).toISOString()
}
