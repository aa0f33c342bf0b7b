import * as z from 'zod'
import { KINDS } from './names.ts'

/** The schemas of the API's requests and responses. The OpenAPI document is made from them. */

const seconds = z.number().min(0)
const button = z.string().regex(/^[1-8]$/)
const sensor = z.string().regex(/^(C|[ABDE][1-8])$/)

export const errorBody = z.strictObject({ message: z.string() })

// Requests. The numbers of a query have been converted before; see routes.ts.

const MAX_TIME_S = 36_000
const RANGE = `seconds from 0 to ${MAX_TIME_S}`
const time = z
  .number({
    error: ({ input }) => (typeof input === 'number' ? `expected ${RANGE}` : 'expected a number such as 12.5'),
  })
  .min(0, { error: `expected ${RANGE}` })
  .max(MAX_TIME_S, { error: `expected ${RANGE}` })
const whole = (from: number, to: number) => {
  const error = `expected a whole number from ${from} to ${to}`
  return z.int({ error }).min(from, { error }).max(to, { error })
}

export const listQuery = z.strictObject({
  page: whole(1, 1_000_000).default(1).meta({ description: 'Counts from 1.', example: 1 }),
  limit: whole(1, 50).default(20).meta({ description: 'Charts on a page.', example: 20 }),
  kind: z
    .enum(KINDS, { error: `expected ${KINDS.join(', ')}` })
    .optional()
    .meta({ description: 'Charts of this kind only.', example: 'dx' }),
  difficulty: whole(1, 7).optional().meta({
    description: '1 EASY, 2 BASIC, 3 ADVANCED, 4 EXPERT, 5 MASTER, 6 Re:MASTER, 7 ORIGINAL or utage.',
    example: 5,
  }),
  q: z
    .string({ error: 'expected one text' })
    .max(100, { error: 'expected at most 100 characters' })
    .optional()
    .meta({ description: 'Text in the title, the artist or the designer.', example: 'link' }),
  sort: z
    .enum(['newest', 'title'], { error: 'expected newest or title' })
    .default('newest')
    .meta({ description: 'The newest songs first, or by title.', example: 'title' }),
})

export const notesQuery = z
  .strictObject({
    from: time.default(0).meta({ description: 'Notes that start at this time or later, in seconds.', example: 0 }),
    to: time.optional().meta({ description: 'Notes that start before this time, in seconds.', example: 12.5 }),
  })
  .refine(({ from, to }) => to === undefined || from <= to, { error: 'from is after to' })

export const previewQuery = z.strictObject({
  t: time.optional().meta({
    description: 'The moment of the frame, in seconds of the chart. Without it: how dense the notes are.',
    example: 12.5,
  }),
  w: whole(120, 1200).default(480).meta({ description: 'Width in pixels.', example: 480 }),
})

export const noQuery = z.strictObject({})

export const chartParams = z.object({
  chartKey: z.string().meta({
    description: '`{songId}:{kind}:{difficulty}`, by the id of LXNS and the difficulty of simai, as the list has it.',
    example: '1466:dx:5',
  }),
})

export const keyParams = z.object({
  id: z.string().meta({
    description: 'The `id` of the key, as the list has it; not the key itself.',
    example: '0b2f0c5e-4a8e-4f53-9a55-1f6d5f0e7a11',
  }),
})

const NAME = { error: 'expected 1 to 64 characters' }
export const newKey = z.strictObject({
  name: z
    .string(NAME)
    .trim()
    .min(1, NAME)
    .max(64, NAME)
    // The expression is in the document, so it has no \p{…}, which other languages do not know.
    .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, { error: 'has control characters' })
    // The database would return half of a surrogate pair as another character.
    .refine((name) => name.isWellFormed(), { error: 'has half of a surrogate pair' }),
})

// Responses.

const item = {
  chartKey: z.string(),
  songId: z.int(),
  title: z.string(),
  artist: z.string(),
  kind: z.enum(KINDS),
  difficulty: z.int().min(1).max(7),
  levelLabel: z.string(),
  designer: z.string(),
  musicId: z.int(),
  /** The level in the game; EASY and ORIGINAL have none. */
  level: z.int().nullable(),
}

export const listBody = z.strictObject({
  items: z.array(z.strictObject(item)),
  total: z.int().min(0),
  page: z.int().min(1),
  limit: z.int().min(1),
})

const count = z.int().min(0)

export const chartBody = z.strictObject({
  ...item,
  bpm: z.number().describe('The first tempo.'),
  firstSeconds: z.number().describe('From the start of the music to the start of the chart.'),
  durationSeconds: seconds.describe('From the start of the chart to the end of its last note.'),
  notes: z.strictObject({ tap: count, hold: count, slide: count, touch: count, break: count, total: count }),
  maxDxScore: count,
  warnings: z
    .array(z.strictObject({ line: z.int().min(1), column: z.int().min(1), problem: z.string() }))
    .describe('What of the maidata was passed over or read as something else, in the order of the file.'),
  hash: z.string().describe('MD5 of the maidata in base64.'),
})

const head = { time: seconds }
const marks = { break: z.boolean(), ex: z.boolean(), each: z.boolean() }

const path = z.strictObject({
  shape: z.string().describe('One of - ^ < > v V p q pp qq s z w; those of a chain one after the other.'),
  via: button.optional(),
  end: button,
  wait: seconds,
  duration: seconds,
  break: z.boolean(),
  segments: z
    .array(z.strictObject({ shape: z.string(), via: button.optional(), end: button, duration: seconds.optional() }))
    .optional()
    .describe('The slides of a chain.'),
})

const note = z.discriminatedUnion('type', [
  z.strictObject({
    ...head,
    type: z.literal('tap'),
    position: button,
    ...marks,
    star: z.enum(['still', 'rotating']).optional(),
  }),
  z.strictObject({ ...head, type: z.literal('hold'), position: button, duration: seconds, ...marks }),
  z.strictObject({
    ...head,
    type: z.literal('slide'),
    position: button,
    head: z.boolean(),
    ...marks,
    look: z.enum(['tap', 'rotating']).optional(),
    paths: z.array(path).min(1),
  }),
  z.strictObject({ ...head, type: z.literal('touch'), position: sensor, firework: z.boolean(), each: z.boolean() }),
  z.strictObject({
    ...head,
    type: z.literal('touchHold'),
    position: sensor,
    duration: seconds,
    firework: z.boolean(),
    each: z.boolean(),
  }),
])

export const notesBody = z.strictObject({ chartKey: z.string(), notes: z.array(note) })

const key = { id: z.string().describe('A UUID.'), name: z.string() }
const made = { prefix: z.string(), createdAt: z.iso.datetime() }

export const newKeyBody = z.strictObject({ ...key, key: z.string(), ...made })
export const keysBody = z.strictObject({ items: z.array(z.strictObject({ ...key, ...made })) })
