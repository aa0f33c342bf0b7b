import * as z from 'zod'

const count = z.int().min(0)
const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text).toISOString())
const timeOrNull = time.nullable().default(null)

/** Columns of a player that no endpoint writes. */
const profile = z.strictObject({
  userName: z.string().refine((name) => [...name].length <= 8, { error: 'at most 8 characters' }),
  iconId: count,
  plateId: count,
  titleId: count,
  partnerId: count,
  frameId: count,
  courseRank: count.max(23),
  classRank: count.max(25),
  totalAwake: count,
  charaSlot: z.array(count).length(5),
  playCount: count,
  currentPlayCount: count,
  point: count.max(99_999),
  mapStock: count.max(999),
  isNetMember: z.literal([0, 1]),
  banState: z.literal([0, 1, 2]),
  lastRomVersion: z.string(),
  lastDataVersion: z.string(),
  lastRegionId: count,
  lastRegionName: z.string(),
  firstPlayDate: time.nullable(),
  lastLoginDate: time.nullable(),
  lastPlayDate: time.nullable(),
})
export type Profile = z.output<typeof profile>
const profilePatch = profile.partial()
export type ProfilePatch = z.output<typeof profilePatch>

/** Ratings that hold until the player's next change of scores. Where a file has none, they are computed from its scores. */
const ratings = z.strictObject({
  playerRating: count,
  highestRating: count,
  playerOldRating: count,
  playerNewRating: count,
})
export type Ratings = z.output<typeof ratings>

const score = z.strictObject({
  musicId: count,
  level: count,
  playCount: z.int().min(1).default(1),
  achievement: count,
  comboStatus: count.max(4).default(0),
  syncStatus: count.max(5).default(0),
  deluxscoreMax: count.default(0),
})

const item = z.strictObject({ itemKind: z.int().min(1).max(15), itemId: count, stock: count, isValid: z.boolean() })
export type Item = z.output<typeof item>

const gate = z.strictObject({
  gateId: z.int().min(1).max(10),
  isGateFound: z.boolean(),
  isKeyFound: z.boolean(),
  isClear: z.boolean(),
  totalRestLife: count.default(0),
  totalAchievement: count.max(3_030_000).default(0),
  totalDeluxscore: count.default(0),
  bestAchievement: count.max(3_030_000).default(0),
  bestDeluxscore: count.default(0),
  bestAchievementDate: timeOrNull,
  bestDeluxscoreDate: timeOrNull,
  playCount: count.default(0),
  clearDate: timeOrNull,
  lastPlayDate: timeOrNull,
  isInfoWatched: z.boolean().default(false),
})
export type Gate = z.output<typeof gate>

const region = z.strictObject({ regionId: z.int().min(1), playCount: count, created: time })
export type Region = z.output<typeof region>

const freeTicket = z.strictObject({ chargeId: z.int().min(1), stock: count })
export type FreeTicket = z.output<typeof freeTicket>

const user = z.strictObject({
  profile: profilePatch.default({}),
  ratings: ratings.optional(),
  scores: z.array(score).default([]),
  items: z.array(item).default([]),
  gates: z.array(gate).default([]),
  regions: z.array(region).default([]),
  freeTickets: z.array(freeTicket).default([]),
})
export type FixtureUser = z.output<typeof user>

/** Test and demo data, by user id. */
export const fixtureFile = z.strictObject({ users: z.record(z.string().min(1).max(256), user) })
