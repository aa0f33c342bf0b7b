import * as z from 'zod'
import { ERRORS, type ErrorCode } from '../errors.ts'
import { REASONS } from '../external/platform.ts'

/** The bodies of this service's responses, for its OpenAPI document. */

const count = z.int().min(0)
const musicId = z.int().min(1)
const level = z.literal([0, 1, 2, 3, 4, 10])
const time = z.iso.datetime()
const timeOrNull = time.nullable()
const userId = z.int()

function success(businessData: z.ZodType) {
  return z.strictObject({
    returnCode: z.literal(1),
    returnMessage: z.literal('success'),
    code: z.literal(0),
    msg: z.literal('success'),
    businessData,
  })
}

const musicDetail = z.strictObject({
  musicId,
  level,
  playCount: count,
  achievement: count.max(2_020_000).describe('Percent x 10000.'),
  comboStatus: count.max(4),
  syncStatus: count.max(5),
  deluxscoreMax: count,
  scoreRank: count.max(13).describe('0 for D to 13 for SSS+.'),
  extNum1: z.literal(0),
})

export const health = z.strictObject({
  returnCode: z.literal(0),
  returnMessage: z.literal('pong'),
  code: z.literal(0),
  msg: z.literal('pong'),
})

export const chargeQueue = z.strictObject({
  code: z.literal(0),
  returnCode: z.literal(1),
  tasks: z.array(z.unknown()).max(0),
  workers: z.literal(0),
  msg: z.string(),
})

export const upserted = success(
  z.strictObject({ created: count, updated: count, unchanged: count, userMusicDetailList: z.array(musicDetail) }),
)

export const deleted = success(
  z.strictObject({ deleted: count, musicList: z.array(z.strictObject({ musicId, level })) }),
)

export const cleared = success(z.strictObject({ deleted: count }))

export const music = success(
  z.strictObject({
    userId,
    length: count,
    nextIndex: z.literal(0),
    userMusicList: z.array(z.strictObject({ userMusicDetailList: z.array(musicDetail).min(1) })),
  }),
)

const ticket = z.strictObject({
  chargeId: z.literal([2, 3, 5]),
  stock: count,
  purchaseDate: time,
  validDate: time,
  extNum1: z.literal(0),
})

export const charged = success(z.strictObject({ userCharge: ticket }))

export const tickets = success(
  z.strictObject({
    userId,
    length: count,
    userChargeList: z.array(ticket),
    userFreeChargeList: z.array(z.strictObject({ chargeId: z.int(), stock: count })),
  }),
)

export const ticketsCleared = success(z.strictObject({ clearedKinds: count, clearedStock: count }))

const item = z.strictObject({ itemKind: z.int().min(1).max(15), itemId: count, stock: count, isValid: z.boolean() })

export const items = success(
  z.strictObject({ userId, length: count, nextIndex: z.literal(0), userItemList: z.array(item) }),
)

const region = z.strictObject({ regionId: z.int().min(1), playCount: count, created: time })

export const regions = success(z.strictObject({ userId, length: count, userRegionList: z.array(region) }))

const gate = z.strictObject({
  gateId: z.int().min(1).max(10),
  gateName: z.string(),
  state: z.enum(['undiscovered', 'key_only', 'locked', 'open', 'cleared']),
  isGateFound: z.boolean(),
  isKeyFound: z.boolean(),
  isClear: z.boolean(),
  totalRestLife: count,
  totalAchievement: count.max(3_030_000),
  totalDeluxscore: count,
  bestAchievement: count.max(3_030_000),
  bestDeluxscore: count,
  bestAchievementDate: timeOrNull,
  bestDeluxscoreDate: timeOrNull,
  playCount: count,
  clearDate: timeOrNull,
  lastPlayDate: timeOrNull,
  isInfoWatched: z.boolean(),
})

export const gates = success(z.strictObject({ userId, length: count, userKaleidxScopeList: z.array(gate) }))

const banState = z.literal([0, 1, 2])
const isNetMember = z.literal([0, 1])

export const userData = success(
  z.strictObject({
    userId,
    banState,
    userData: z.strictObject({
      userName: z.string(),
      playerRating: count,
      highestRating: count,
      playerOldRating: count,
      playerNewRating: count,
      iconId: count,
      plateId: count,
      titleId: count,
      partnerId: count,
      frameId: count,
      courseRank: count,
      classRank: count,
      totalAwake: count,
      charaSlot: z.array(count).length(5),
      playCount: count,
      currentPlayCount: count,
      point: count,
      mapStock: count,
      isNetMember,
      lastRomVersion: z.string(),
      lastDataVersion: z.string(),
      lastRegionId: count,
      lastRegionName: z.string(),
      firstPlayDate: timeOrNull,
      lastLoginDate: timeOrNull,
      lastPlayDate: timeOrNull,
    }),
  }),
)

export const preview = success(
  z.strictObject({
    userId,
    userName: z.string(),
    isLogin: z.boolean(),
    lastGameId: z.string(),
    lastDataVersion: z.string(),
    lastRomVersion: z.string(),
    lastLoginDate: timeOrNull,
    lastPlayDate: timeOrNull,
    playerRating: count,
    nameplateId: count,
    iconId: count,
    trophyId: count,
    partnerId: count,
    frameId: count,
    totalAwake: count,
    isNetMember,
    dailyBonusDate: timeOrNull,
    banState,
    isInherit: z.boolean(),
    dispRate: count,
    headPhoneVolume: count,
  }),
)

const skipped = {
  skipped: count,
  skippedRecords: z
    .array(
      z.strictObject({
        id: z.int().nullable(),
        type: z.string().nullable(),
        level_index: z.int().nullable(),
        reason: z.enum(REASONS),
      }),
    )
    .max(20),
}

export function updated(platform: 'lxns' | 'fish') {
  return success(
    z.strictObject({
      platform: z.literal(platform),
      mode: z.enum(['pull', 'push', 'both']),
      pull: z
        .strictObject({ fetched: count, created: count, updated: count, unchanged: count, ...skipped })
        .nullable()
        .describe('What was read from the platform and merged; nothing that is stored is lowered.'),
      push: z
        .strictObject({ sent: count, accepted: count, ...skipped })
        .nullable()
        .describe('What was sent; the platform overwrites.'),
      startedAt: time,
      finishedAt: time,
    }),
  )
}

export const openapi = z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) })

const detail = z.strictObject({
  index: count.optional(),
  musicId: musicId.optional(),
  level: level.optional(),
  field: z.string().optional(),
  max: count.optional(),
  problem: z.string().optional(),
})

const platformDetail = z.strictObject({
  platform: z.enum(['lxns', 'fish']),
  status: z.int().min(400).max(499),
  message: z.string().max(200),
})

const DETAILS: Partial<Record<ErrorCode, z.ZodType>> = {
  invalid_request: z.array(detail).optional(),
  music_not_found: z.array(detail),
  score_not_found: z.array(detail),
  dx_score_out_of_range: z.array(detail),
  external_rejected: platformDetail,
}

/** The body of a refusal. */
export function errorBody(error: ErrorCode): z.ZodType {
  const { returnCode }: { status: number; returnCode?: number } = ERRORS[error]
  const details = DETAILS[error]
  return z.strictObject({
    error: z.literal(error),
    msg: z.string(),
    ...(returnCode !== undefined && { returnCode: z.literal(returnCode), code: z.literal(returnCode) }),
    ...(details !== undefined && { details }),
  })
}
