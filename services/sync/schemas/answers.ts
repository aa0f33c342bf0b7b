import * as z from 'zod'

/** The responses of the service. The document and the types of the handlers are made from these. */

const count = z.int().min(0)

export const syncResponse = z.object({
  status: z.enum(['partial', 'ok']).describe('partial: a chunk of a snapshot that is not finished'),
  snapshot_id: z.string().nullable(),
  imported: count.describe('Records of this request with a new key'),
  updated: count.describe('Those that changed what was stored'),
  skipped: count.describe('Those that changed nothing, or are told of in errors'),
  stored_records: count.describe('What the player has now'),
  removed: count.optional().describe('What the snapshot did not have; absent while it is not finished'),
  errors: z.array(z.string()).describe('One text for each record that could not be used'),
  warnings: z.array(z.string()).optional().describe('What else was not done as sent; absent where there is none'),
})
export type SyncResponse = z.output<typeof syncResponse>

const record = z.object({
  song_id: z.int(),
  title: z.string(),
  type: z.enum(['SD', 'DX']),
  level_index: z.int().min(0).max(4),
  level: z.string(),
  level_label: z.string(),
  ds: z.number(),
  achievements: z.number(),
  ra: count,
  rate: z.string(),
  dxScore: count,
  fc: z.string(),
  fs: z.string(),
})
export type ResponseedRecord = z.output<typeof record>

const summary = {
  qq: z.int(),
  nickname: z.string(),
  username: z.string(),
  rating: count,
  old_rating: count,
  new_rating: count,
  play_count: count,
  updated_at: z.iso.datetime({ precision: 3 }),
}
export const summaryResponse = z.object(summary)
export type SummaryResponse = z.output<typeof summaryResponse>
export const playerResponse = z.object({ ...summary, records: z.array(record) })
export type PlayerResponse = z.output<typeof playerResponse>

const time = z.iso.datetime({ precision: 3 })
export const snapshotResponse = z.object({
  snapshot_id: z.string().describe('A UUID of the service for a snapshot that had no id'),
  state: z
    .enum(['open', 'closed', 'expired', 'abandoned', 'refused'])
    .describe('refused: a chunk of it was refused before it began'),
  opened_at: time,
  updated_at: time.describe('When its last chunk came'),
  expires_at: time.nullable().describe('When it is given up without another chunk; null unless it is open'),
  chunks: count.describe('Different ones that have been taken'),
  chunk_count: z.int().nullable().describe('null: its chunks have no numbers'),
  missing_chunks: z.array(z.int()).describe('Numbers that have not come; empty unless it is open'),
  deletes: z.boolean().describe('false: its end deletes nothing, because what it names is not wholly known'),
  removed: count.describe('How many scores its end has deleted'),
  restorable: count.describe('How many of them undo can put back'),
  restorable_until: time.nullable(),
})
export type SnapshotResponse = z.output<typeof snapshotResponse>
export const snapshotsResponse = z.object({ qq: z.int(), snapshots: z.array(snapshotResponse).max(100) })
export type SnapshotsResponse = z.output<typeof snapshotsResponse>

export const undoResponse = z.object({
  status: z.literal('ok'),
  snapshot_id: z.string(),
  restored: count.describe('Deleted scores that are stored again'),
  updated: count.describe('Scores that were stored again meanwhile, and are better now'),
  skipped: count.describe('Scores that were stored again meanwhile, and are as good'),
  stored_records: count.describe('What the player has now'),
})
export type UndoResponse = z.output<typeof undoResponse>

export const trendResponse = z.object({
  qq: z.int(),
  nickname: z.string(),
  days: z.int(),
  points: z
    .array(
      z.object({
        date: z.string().regex(/^\d{4}-\d\d-\d\d$/),
        rating: count,
        delta: z.int().describe('Since the point before; 0 for the first'),
        old_rating: count,
        new_rating: count,
        record_count: count,
      }),
    )
    .describe('One for each day with a sync'),
  summary: z.object({ start_rating: count, end_rating: count, rating_delta: z.int(), days_with_data: count }),
})
export type TrendResponse = z.output<typeof trendResponse>

export const errorResponse = z.object({ detail: z.string() })
export const conflictResponse = z.object({
  detail: z.string(),
  open_snapshot_id: z.string().nullable(),
  missing_chunks: z.array(z.int()).optional().describe('With missing_chunks: the numbers that have not come'),
  chunk_count: z.int().nullable().optional().describe('With chunk_count_changed: what the snapshot began with'),
  chunk_index: z.int().optional().describe('With chunk_index_taken: the number that another chunk has'),
})
export const problemsResponse = z.object({
  detail: z.array(z.object({ loc: z.array(z.union([z.string(), z.int()])), msg: z.string(), type: z.string() })),
})
