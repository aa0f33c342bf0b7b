import * as z from 'zod'

/** The most records of one request. */
export const MAX_RECORDS = 10_000
/** The most chunks of one snapshot, for clients that number them. */
const MAX_CHUNKS = 1000
const MAX_RATING = 99_999
const MAX_NAME = 64

const qq = z.int().min(10_000).max(999_999_999_999)
const rating = z.int().min(0).max(MAX_RATING).nullish()
/** A lone half of a surrogate pair is no character, and the database would return another one. */
const name = z
  .string()
  .max(MAX_NAME)
  .transform((text) => text.toWellFormed())
  .nullish()

/**
 * The form of a record. A request with a record of another form is refused, but a record with impossible values is only
 * left out; see judge.ts. Members that are not listed are ignored.
 */
const record = z.object({
  song_id: z.int().describe('musicId; with type DX, one below 10000 means that + 10000'),
  title: z.string().nullish(),
  type: z.string().nullish().describe('SD (also standard), DX or utage; default: as song_id says'),
  level_index: z.int().describe('0 Basic to 4 Re:MASTER; 0 or 1 for utage'),
  level: z.string().nullish().describe('As displayed, for example 13+'),
  level_label: z.string().nullish(),
  ds: z.number().nullish().describe('The constant of the chart, 0 to 20'),
  achievements: z.number().describe('Percent, 0 to 101; up to 202 for utage'),
  ra: z
    .int()
    .nullish()
    .describe('Rating of the chart, 0 to 999; read where the catalogue does not know the chart and ds is not sent'),
  rate: z.string().nullish().describe('d to sssp; default, and for another word: as achievements says'),
  dxScore: z.int().nullish().describe('0 to the maximum of the chart; default 0'),
  fc: z
    .string()
    .nullish()
    .describe('Empty, fc, fcp (also FC+), ap or app (also AP+); another word lowers nothing and is in warnings'),
  fs: z.string().nullish().describe('Empty, sync, fs, fsp, fsd (also fdx) or fsdp (also fdxp); another word as in fc'),
})
export type SentRecord = z.output<typeof record>

export const playerKeys = {
  qq: qq.optional().describe('The player'),
  player_id: qq.optional().describe('Another name of qq; one of the two is needed'),
}

export const snapshotId = z
  .string()
  .max(64)
  // The classes of Unicode have no name that all readers of the document know.
  .regex(/^[^\x00-\x1f\x7f-\x9f]+$/)
  .refine((text) => text.isWellFormed(), 'a half of a surrogate pair is no character')

export const chunkNumbers = {
  chunk_index: z
    .int()
    .min(0)
    .max(MAX_CHUNKS - 1)
    .nullish()
    .describe('From 0; goes with chunk_count, and then lost chunks are noticed'),
  chunk_count: z
    .int()
    .min(1)
    .max(MAX_CHUNKS)
    .nullish()
    .describe('Goes with chunk_index; the same in each chunk of a snapshot'),
}

/** Members that are needed together, for readers of the document. The service checks the same by `transform` below. */
const TOGETHER = [
  { anyOf: [{ required: ['qq'] }, { required: ['player_id'] }] },
  both('chunk_index', 'chunk_count'),
  both('chunk_count', 'chunk_index'),
]

function both(one: string, other: string) {
  const integer = (name: string) => ({ required: [name], properties: { [name]: { type: 'integer' } } })
  return { anyOf: [{ not: integer(one) }, integer(other)] }
}

export const syncBody = z
  .object({
    ...playerKeys,
    nickname: name,
    source: name.describe('Where the scores are from, for example sega, divingfish or lxns'),
    rating: rating.describe(
      'Default: computed from the stored records, of which one whose chart is not in the catalogue counts its ra, as an old chart',
    ),
    old_rating: rating,
    new_rating: rating,
    play_count: z.int().min(0).nullish(),
    records: z.array(record).max(MAX_RECORDS),
    full_snapshot: z.boolean().nullish().describe('Default false: the records raise what is stored and never lower it'),
    snapshot_id: snapshotId.nullish().describe('Names a snapshot of several requests'),
    snapshot_final: z
      .boolean()
      .nullish()
      .describe('True for the last chunk, which deletes what the snapshot does not have'),
    ...chunkNumbers,
  })
  .meta({ allOf: TOGETHER })
  .transform((sent, context) => {
    const refuse = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message })
    if (sent.qq === undefined && sent.player_id === undefined) {
      context.addIssue({ code: 'invalid_type', expected: 'number', path: ['qq'], input: undefined })
    }
    if (sent.qq !== undefined && sent.player_id !== undefined && sent.qq !== sent.player_id) {
      refuse('player_id', 'qq and player_id differ')
    }
    const chunkIndex = sent.chunk_index ?? null
    const chunkCount = sent.chunk_count ?? null
    if ((chunkIndex === null) !== (chunkCount === null))
      refuse('chunk_index', 'chunk_index and chunk_count go together')
    if (chunkIndex !== null && chunkCount !== null && chunkIndex >= chunkCount) {
      refuse('chunk_index', 'chunk_index is not below chunk_count')
    }
    return {
      qq: sent.qq ?? sent.player_id ?? 0,
      nickname: sent.nickname ?? null,
      source: sent.source ?? null,
      rating: sent.rating ?? null,
      oldRating: sent.old_rating ?? null,
      newRating: sent.new_rating ?? null,
      playCount: sent.play_count ?? null,
      records: sent.records,
      isFull: sent.full_snapshot ?? false,
      snapshotId: sent.snapshot_id ?? null,
      isFinal: sent.snapshot_final ?? false,
      chunkIndex,
      chunkCount,
    }
  })
export type SyncRequest = z.output<typeof syncBody>

export const playerPath = z.object({
  qq: qq.meta({ description: 'The player: the number under which the scores were sent', example: 123456789 }),
})
export const snapshotPath = playerPath.extend({
  snapshot_id: snapshotId.meta({ description: 'The snapshot, percent-encoded', example: 'qq-123456789-20260825-01' }),
})
export const undoBody = z
  .object({ snapshot_id: snapshotId.nullish().describe('Default: the snapshot that was finished last') })
  .prefault({})
export const trendQuery = z.object({
  days: z
    .int()
    .min(1)
    .max(365)
    .default(30)
    .meta({ description: 'Days back, today included; a day begins at midnight of Asia/Shanghai', example: 30 }),
})

/** A parameter of an address is text. Text in the form of a whole number becomes that number, and other text stays. */
export function numberIn(text: unknown): unknown {
  return typeof text === 'string' && /^-?\d{1,20}$/.test(text) ? Number(text) : text
}
