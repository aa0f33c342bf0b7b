import * as z from 'zod'
import { kindOf } from './ids.ts'

const count = z.int().min(0)

const notes = z
  .strictObject({ tap: count, hold: count, slide: count, touch: count, break: count, total: z.int().min(1) })
  .refine((n) => n.tap + n.hold + n.slide + n.touch + n.break === n.total, {
    error: 'total is not the sum of the notes',
  })

const chart = z
  .strictObject({
    /** 0 BASIC to 4 Re:MASTER, 10 UTAGE. */
    level: z.union([z.int().min(0).max(4), z.literal(10)]),
    /** As displayed, for example `13+`. */
    levelLabel: z.string().min(1),
    /** The constant, with one decimal at most. */
    ds: z.number().min(0).max(20).multipleOf(0.1),
    designer: z.string(),
    notes,
    maxDxScore: z.int().min(3),
    /** An utage chart for two players: achievements up to 202 %. */
    buddy: z.boolean().default(false),
  })
  .refine((c) => c.maxDxScore === 3 * c.notes.total, { error: 'maxDxScore is not 3 x total' })

const song = z
  .strictObject({
    musicId: z.int().min(1).max(999_999),
    title: z.string().min(1),
    artist: z.string(),
    genre: z.string(),
    bpm: z.number().positive(),
    version: z.string(),
    type: z.enum(['standard', 'dx', 'utage']),
    isNew: z.boolean(),
    charts: z.array(chart).min(1),
  })
  .refine((s) => s.type === kindOf(s.musicId), { error: 'type does not go with musicId' })
  .refine((s) => s.charts.every((c) => (c.level === 10) === (s.type === 'utage')), { error: 'level 10 is for utage' })
  .refine((s) => s.charts.every((c) => !c.buddy || s.type === 'utage'), { error: 'only utage charts are buddy charts' })

export const catalogueFile = z
  .array(song)
  .min(1)
  .refine((songs) => new Set(songs.map((s) => s.musicId)).size === songs.length, { error: 'a musicId is there twice' })

export type Song = z.output<typeof song>
