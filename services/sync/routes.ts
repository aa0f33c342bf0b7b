import { examplesIn } from '../common/examples.ts'
import type { Operation, ResponseDoc } from '../common/openapi.ts'
import type { Handler } from './backend.ts'
import { NO_PLAYER, NO_SNAPSHOT, NO_TOKEN, UPLOADING } from './errors.ts'
import { abandonSnapshot, listSnapshots, readSnapshot, undoSnapshot } from './history.ts'
import { readPlayer, readSummary, readTrend } from './player.ts'
import {
  conflictResponse,
  errorResponse,
  playerResponse,
  problemsResponse,
  snapshotResponse,
  snapshotsResponse,
  summaryResponse,
  syncResponse,
  trendResponse,
  undoResponse,
} from './schemas/answers.ts'
import { playerPath, snapshotPath, syncBody, trendQuery, undoBody } from './schemas/requests.ts'
import { syncScores } from './sync.ts'

/** A route and its description. */
export interface Route extends Operation {
  readonly handle: Handler
}

const example = examplesIn(import.meta.url)
const SECURITY = ['BotToken']
const SYNC = `**Incremental** (without full_snapshot): the records raise what is stored, field by field, and never lower it.

**Snapshot** (with full_snapshot): the records overwrite what is stored, and what the snapshot does not name is deleted at its end. It is
one request, or several chunks that share one snapshot_id; then the end is the chunk with snapshot_final.

- A chart that a snapshot names is not deleted by it. A record that cannot be used (see errors) leaves the stored score as it is; if its
  type or level is in doubt, it leaves every score that it may mean.
- A snapshot deletes nothing, and says so in warnings, if a record names no song (song_id below 1), or if a chunk without a number was refused and has
  not come again.
- Chunks may come in any order and again. What an incremental sync stores meanwhile is kept and not lowered.
- With chunk_index and chunk_count, the end waits for all chunks: 409 \`missing_chunks\` has deleted and stored nothing. The count may not change
  (409 \`chunk_count_changed\`), nor may another chunk have the same number (409 \`chunk_index_taken\`).
- While a snapshot is open, another one is refused: 409 \`… is not finished\`, with Retry-After. An open snapshot without a chunk for 30 minutes
  (default) is given up: what was written stays, nothing is deleted, and its chunks are refused (409 \`snapshot_expired\`).
- Snapshots are remembered for a week. A chunk that a finished snapshot has had already is answered \`ok\` and changes nothing. A chunk that comes late to the
  last snapshot is taken as an addition: it never lowers and deletes nothing. A new chunk of an older one is refused (409 \`snapshot_closed\`).
- An open snapshot can be looked at and given up, and what the end of a snapshot has deleted can be put back for a week: see the routes below.
- A snapshot without snapshot_id is a new one each time. Give it an id, and a repeat that comes late does no harm.`

const BAD: ResponseDoc = { description: 'The request cannot be carried out', schema: errorResponse }
const STRANGER: ResponseDoc = { description: 'No valid Bot-Token', schema: errorResponse, example: NO_TOKEN.body }
const UNKNOWN: ResponseDoc = { description: 'No such player', schema: errorResponse, example: NO_PLAYER.body }
const LOST: ResponseDoc = { description: 'No such snapshot', schema: errorResponse, example: NO_SNAPSHOT.body }
const BUSY: ResponseDoc = {
  description: 'Scores are being stored; try again after Retry-After seconds',
  schema: errorResponse,
  example: UPLOADING.body,
}
const MALFORMED: ResponseDoc = { description: 'The request is not of the described form', schema: problemsResponse }
const FAILED: ResponseDoc = { description: 'A failure of the service', schema: errorResponse }

export const ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/bot/sync',
    tag: 'Scores',
    summary: 'Store scores of a player, alone or as a part of a snapshot',
    description: SYNC,
    security: SECURITY,
    body: syncBody,
    bodyExample: example('chunk.request'),
    responses: {
      200: { description: 'Stored', schema: syncResponse, example: example('chunk.answer') },
      400: BAD,
      401: STRANGER,
      409: {
        description:
          'Another snapshot is not finished (try again after Retry-After seconds), this one is over already, or its chunks do not fit together',
        schema: conflictResponse,
        example: example('conflict.answer'),
      },
      413: { description: 'The body is larger than 8 MiB', schema: errorResponse },
      422: MALFORMED,
      429: {
        description: 'Scores of this player are being stored; try again after Retry-After seconds',
        schema: errorResponse,
        example: UPLOADING.body,
      },
      500: FAILED,
    },
    handle: syncScores,
  },
  {
    ...reading('/api/bot/player/:qq', 'A player with all scores'),
    responses: { 200: { description: 'The player', schema: playerResponse }, ...readingResponses() },
    handle: readPlayer,
  },
  {
    ...reading('/api/bot/player/:qq/summary', 'A player without scores'),
    responses: { 200: { description: 'The player', schema: summaryResponse }, ...readingResponses() },
    handle: readSummary,
  },
  {
    ...reading('/api/bot/player/:qq/trend', 'The rating of a player, day by day'),
    query: trendQuery,
    responses: { 200: { description: 'The days with a sync', schema: trendResponse }, ...readingResponses() },
    handle: readTrend,
  },
  {
    ...reading('/api/bot/player/:qq/snapshots', 'The snapshots of a player that are remembered, the newest first'),
    description: 'Those with a chunk within the last week, 100 at most.',
    responses: { 200: { description: 'The snapshots', schema: snapshotsResponse }, ...readingResponses() },
    handle: listSnapshots,
  },
  {
    ...reading('/api/bot/player/:qq/snapshots/:snapshot_id', 'A snapshot: what has come, and what it has deleted'),
    params: snapshotPath,
    responses: { 200: { description: 'The snapshot', schema: snapshotResponse }, ...readingResponses(LOST) },
    handle: readSnapshot,
  },
  {
    method: 'DELETE',
    path: '/api/bot/player/:qq/snapshots/:snapshot_id',
    tag: 'Snapshots',
    summary: 'Give an open snapshot up, so that another one may begin at once',
    description: `What was written stays and nothing is deleted. Its chunks are refused from now on (409 \`snapshot_abandoned\`), and another
snapshot needs another id. Repeating the request changes nothing.`,
    security: SECURITY,
    params: snapshotPath,
    responses: {
      200: { description: 'The snapshot as it is now', schema: snapshotResponse },
      ...readingResponses(LOST),
      409: { description: 'The snapshot is finished', schema: conflictResponse },
      429: BUSY,
    },
    handle: abandonSnapshot,
  },
  {
    method: 'POST',
    path: '/api/bot/player/:qq/undo',
    tag: 'Snapshots',
    summary: 'Put back what the end of a snapshot has deleted',
    description: `Deleted scores are kept for a week after the last chunk of their snapshot; of one player 40,000 at most, the newest first. A score that was
stored again meanwhile is raised, field by field, and never lowered. Repeating the request changes nothing.`,
    security: SECURITY,
    params: playerPath,
    body: undoBody,
    bodyExample: { snapshot_id: 'qq-123456789-20260825-01' },
    responses: {
      200: { description: 'Put back', schema: undoResponse },
      ...readingResponses(LOST),
      413: { description: 'The body is larger than 8 MiB', schema: errorResponse },
      429: BUSY,
    },
    handle: undoSnapshot,
  },
]

function reading(path: string, summary: string) {
  const tag = path.includes('/snapshots') ? 'Snapshots' : 'Players'
  return { method: 'GET', path, tag, summary, security: SECURITY, params: playerPath } as const
}

function readingResponses(unknown = UNKNOWN) {
  return { 400: BAD, 401: STRANGER, 404: unknown, 422: MALFORMED, 500: FAILED }
}
