import { createHash } from 'node:crypto'
import type { Catalogue } from '../music/catalogue.ts'
import { fromFish } from '../music/ids.ts'
import { playerRating, type Rating } from '../music/rating.ts'
import type { Backend, Handler } from './backend.ts'
import { dayOf } from './day.ts'
import { isRefusal, type Refusal, readBy, refuse, UPLOADING } from './errors.ts'
import { type Judged, judgeRecords } from './judge.ts'
import { conflict, missingFrom, type Step, stepOf } from './protocol.ts'
import { best, isSame, keyOf, larger, type ScoreRecord } from './record.ts'
import { MARK, type Records, type StoredRecord } from './records.ts'
import type { SyncAnswer } from './schemas/answers.ts'
import { type SyncRequest, syncBody } from './schemas/requests.ts'
import type { Store } from './store.ts'

/** A request and what became of its records. */
interface Sync {
  readonly request: SyncRequest
  readonly judged: Judged
  /** Of the records as they were sent. */
  readonly hash: Uint8Array
}

type Overwrite = Extract<Step, { kind: 'overwrite' }>
type Counts = Pick<SyncAnswer, 'imported' | 'updated' | 'skipped'>

/** POST /api/bot/sync: stores records, alone or as a part of a snapshot. */
export const syncScores: Handler = async (backend, { body }) => {
  const request = readBy(syncBody, body, 'body')
  if (isRefusal(request)) return request
  const { uploading, store, catalogue } = backend
  if (uploading.has(request.qq)) return UPLOADING
  uploading.add(request.qq)
  try {
    const judged = judgeRecords(request.records, catalogue)
    const hash = createHash('sha256').update(JSON.stringify(request.records)).digest()
    return await store.write(() => carryOut(backend, { request, judged, hash }))
  } finally {
    uploading.delete(request.qq)
  }
}

/** One transaction: a refusal comes before the first change. */
function carryOut({ store, catalogue, clock, snapshotIdleMs }: Backend, sync: Sync): SyncAnswer | Refusal {
  const { request, hash } = sync
  const { qq } = request
  const now = clock()
  const last = store.snapshots.last(qq, now - snapshotIdleMs)
  const step = stepOf(last, request, store.snapshots.hasSeen(qq, hash))
  if (isRefusal(step)) return step
  if (step.kind === 'repeat') {
    const none = { imported: 0, updated: 0, skipped: request.records.length }
    return answerOf(sync, none, store.records.count(qq), 0)
  }
  const excess = refusalToGrow(store, sync)
  if (excess !== null) return excess
  if (step.kind === 'overwrite') {
    const refusal = step.closes ? refusalToClose(store, sync, step) : null
    if (refusal !== null) return refusal
    admitChunk(store, sync, step, now)
  }

  const counts = writeRecords(store, sync, step)
  const isPartial = step.kind === 'overwrite' && !step.closes
  const removed = step.kind === 'overwrite' && step.closes ? close(store, request) : 0
  const stored = store.records.list(qq)
  writePlayer(store, catalogue, request, stored, now)
  return answerOf(sync, counts, stored.length, isPartial ? null : removed)
}

/**
 * Several times what the game has charts. All scores of a player are read at each sync, in which nobody else is served: without
 * a bound, whoever makes up songs makes that longer and longer.
 */
const MAX_STORED = 20_000

function refusalToGrow({ records }: Store, { request, judged }: Sync): Refusal | null {
  const { qq } = request
  const stored = records.count(qq)
  if (stored + judged.records.length <= MAX_STORED) return null
  const known = new Set(records.list(qq).map(keyOf))
  const added = judged.records.filter((record) => !known.has(keyOf(record))).length
  return stored + added > MAX_STORED ? refuse(400, `a player has ${MAX_STORED} scores at most`) : null
}

/** A snapshot that has lost a chunk, or never had a score, deletes nothing. */
function refusalToClose(
  { snapshots, records }: Store,
  { request, judged }: Sync,
  { opens }: Overwrite,
): Refusal | null {
  const { qq, snapshotId, chunkCount, chunkIndex } = request
  if (chunkCount !== null && chunkIndex !== null) {
    const received = opens ? new Set<number>() : snapshots.indexes(qq)
    const missing = missingFrom(received.add(chunkIndex), chunkCount)
    if (missing.length > 0) return conflict('missing_chunks', opens ? null : snapshotId, { missing_chunks: missing })
  }
  const isEmpty = judged.records.length === 0 && (opens || !records.hasChunk(qq))
  return isEmpty ? refuse(400, 'the snapshot has no valid record') : null
}

function admitChunk({ snapshots, records }: Store, { request, hash }: Sync, { opens }: Overwrite, now: number): void {
  const { qq, snapshotId, chunkIndex } = request
  if (opens) records.clearMarks(qq)
  if (snapshotId === null) return
  if (opens) snapshots.open(qq, snapshotId, now)
  snapshots.add(qq, { hash, index: chunkIndex }, now)
}

function writeRecords({ records }: Store, sync: Sync, step: Exclude<Step, { kind: 'repeat' }>): Counts {
  const { request, judged } = sync
  const { qq } = request
  const stored = new Map(records.list(qq).map((record) => [keyOf(record), record]))
  const counts = { imported: 0, updated: 0, skipped: request.records.length - judged.records.length }
  for (const sent of judged.records) {
    const before = stored.get(keyOf(sent))
    const [after, mark] = step.kind === 'raise' ? raised(before, sent, step.marks) : overwritten(before, sent)
    const isUnchanged = before !== undefined && isSame(before, after)
    counts[before === undefined ? 'imported' : isUnchanged ? 'skipped' : 'updated']++
    if (!isUnchanged || before.mark !== mark) records.put(qq, after, mark)
    stored.delete(keyOf(sent))
  }
  if (step.kind === 'overwrite') markNamed(records, sync, [...stored.values()])
  return counts
}

function raised(before: StoredRecord | undefined, sent: ScoreRecord, marks: boolean): [ScoreRecord, number] {
  const mark = before?.mark ?? MARK.none
  return [before === undefined ? sent : best(before, sent), marks ? mark | MARK.incremental : mark]
}

/** @returns the score to store, and its mark */
function overwritten(before: StoredRecord | undefined, sent: ScoreRecord): [ScoreRecord, number] {
  return [before === undefined ? sent : overwrittenScore(before, sent), (before?.mark ?? MARK.none) | MARK.chunk]
}

function overwrittenScore(before: StoredRecord, sent: ScoreRecord): ScoreRecord {
  // Whoever played while the snapshot was under way has a score that the snapshot cannot know.
  if (before.mark & MARK.incremental) return best(before, sent)
  // A key that stands in several chunks is judged as if it stood several times in one, so their order does not matter.
  return before.mark & MARK.chunk ? larger<ScoreRecord>(before, sent) : sent
}

/** Keeps the stored scores of charts whose records in this snapshot cannot be used. */
function markNamed(records: Records, { request, judged }: Sync, others: readonly StoredRecord[]): void {
  for (const record of others) {
    if (record.mark === MARK.none && judged.named.has(record)) records.put(request.qq, record, MARK.named)
  }
}

/** Deletes what the snapshot does not have, and tells how many there were. */
function close({ snapshots, records }: Store, { qq, snapshotId }: SyncRequest): number {
  if (snapshotId !== null) snapshots.close(qq)
  return records.deleteUnmarked(qq)
}

function writePlayer(
  { players }: Store,
  catalogue: Catalogue,
  request: SyncRequest,
  stored: readonly ScoreRecord[],
  now: number,
): void {
  const { qq, nickname, source, playCount } = request
  const computed = playerRating(stored.map(ratedOf), catalogue)
  const rating: Rating = {
    total: request.rating ?? computed.total,
    old: request.oldRating ?? computed.old,
    new: request.newRating ?? computed.new,
  }
  players.update(qq, { nickname, source, rating, playCount, updatedAt: now })
  players.setDay(qq, { date: dayOf(now), rating, recordCount: stored.length })
}

function ratedOf({ songId, levelIndex, achievement }: ScoreRecord) {
  const { musicId, level } = fromFish({ songId, type: 'SD', levelIndex })
  return { musicId, level, achievement }
}

/** @param removed `null` for a snapshot that is not finished */
function answerOf({ request, judged }: Sync, counts: Counts, stored: number, removed: number | null): SyncAnswer {
  return {
    status: removed === null ? 'partial' : 'ok',
    snapshot_id: request.snapshotId,
    ...counts,
    stored_records: stored,
    ...(removed !== null && { removed }),
    errors: [...judged.errors],
  }
}
