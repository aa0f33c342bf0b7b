import * as z from 'zod'
import { isSongId, kindOf } from './ids.ts'

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
    /** The level as it is displayed, for example `13+`. */
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

/** A song with its charts. */
export const song = z
  .strictObject({
    musicId: z.int().refine(isSongId, { error: 'names no song' }),
    title: z.string().min(1),
    artist: z.string(),
    genre: z.string(),
    bpm: z.number().positive(),
    version: z.string(),
    type: z.enum(['standard', 'dx', 'utage']),
    /** Whether the song's charts count as new, if `rating` names no versions. */
    isNew: z.boolean().optional(),
    charts: z.array(chart).min(1),
  })
  .refine((s) => s.type === kindOf(s.musicId), { error: 'type does not go with musicId' })
  .refine((s) => new Set(s.charts.map((c) => c.level)).size === s.charts.length, { error: 'a level is there twice' })
  .refine((s) => s.charts.every((c) => (c.level === 10) === (s.type === 'utage')), { error: 'level 10 is for utage' })
  .refine((s) => s.charts.every((c) => !c.buddy || s.type === 'utage'), { error: 'only utage charts are buddy charts' })

/** The rules that differ between editions of the game: see "The rating" in docs/scores.md. */
const rating = z.strictObject({
  /** The points that an AP or AP+ adds to its chart's rating: 1 since CiRCLE, 0 before. */
  allPerfect: z.int().min(0).max(1),
  /** The versions whose songs count as new. Without this list the `isNew` of each song decides. */
  newVersions: z.array(z.string()).min(1).optional(),
})

const songs = z
  .array(song)
  .min(1)
  .refine((all) => new Set(all.map((s) => s.musicId)).size === all.length, { error: 'a musicId is there twice' })

export const catalogueFile = z
  .strictObject({ rating, songs })
  .refine((c) => (c.rating.newVersions ?? []).every((name) => c.songs.some((s) => s.version === name)), {
    error: 'newVersions names a version that no song has',
  })
  .refine((c) => c.rating.newVersions !== undefined || c.songs.every((s) => s.isNew !== undefined), {
    error: 'a song has no isNew, and rating has no newVersions',
  })

export type CatalogueFile = z.output<typeof catalogueFile>
export type NoteCounts = z.output<typeof notes>
/** A song in the form of the file. */
export type SongInput = z.input<typeof song>
export type Song = CatalogueFile['songs'][number]
export type RatingRules = CatalogueFile['rating']
