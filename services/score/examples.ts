/** What a client sees of each endpoint that succeeds, for the document: one player, from one request to the next. */

const success = (businessData: object) => ({
  returnCode: 1,
  returnMessage: 'success',
  code: 0,
  msg: 'success',
  businessData,
})

const USER = { userId: 10000001 }
const PLAYED = '2026-08-06T13:20:00.000Z'
const BOUGHT = '2026-08-06T14:06:26.000Z'
const GATE_CLEARED = '2026-07-01T10:00:00.000Z'

export const RECORD = {
  musicId: 11466,
  level: 3,
  achievement: 100.5,
  dxScore: 2800,
  comboStatus: 'ap',
  syncStatus: 'fsd',
}

const DETAIL = {
  musicId: 11466,
  level: 3,
  playCount: 1,
  achievement: 1005000,
  comboStatus: 3,
  syncStatus: 3,
  deluxscoreMax: 2800,
  scoreRank: 13,
  extNum1: 0,
}

const TICKET = {
  chargeId: 2,
  stock: 3,
  purchaseDate: BOUGHT,
  validDate: '2026-11-04T14:06:26.000Z',
  extNum1: 0,
}

const GATE = {
  gateId: 1,
  gateName: 'Blue Gate',
  state: 'cleared',
  isGateFound: true,
  isKeyFound: true,
  isClear: true,
  totalRestLife: 12,
  totalAchievement: 3003000,
  totalDeluxscore: 7000,
  bestAchievement: 3003000,
  bestDeluxscore: 7000,
  bestAchievementDate: GATE_CLEARED,
  bestDeluxscoreDate: GATE_CLEARED,
  playCount: 2,
  clearDate: GATE_CLEARED,
  lastPlayDate: '2026-07-03T10:00:00.000Z',
  isInfoWatched: true,
}

export const HEALTH = { returnCode: 0, returnMessage: 'pong', code: 0, msg: 'pong' }
export const CHARGE_QUEUE = { code: 0, returnCode: 1, tasks: [], workers: 0, msg: 'purchases are carried out at once' }

export const PREVIEW = success({
  ...USER,
  userName: 'ＴＥＳＴ',
  isLogin: false,
  lastGameId: '',
  lastDataVersion: '1.40.08',
  lastRomVersion: '1.41.00',
  lastLoginDate: '2026-08-06T13:00:00.000Z',
  lastPlayDate: PLAYED,
  playerRating: 14509,
  nameplateId: 200201,
  iconId: 200201,
  trophyId: 300022,
  partnerId: 17,
  frameId: 300101,
  totalAwake: 82,
  isNetMember: 1,
  dailyBonusDate: null,
  banState: 0,
  isInherit: false,
  dispRate: 0,
  headPhoneVolume: 0,
})

export const USER_DATA = success({
  ...USER,
  banState: 0,
  userData: {
    userName: 'ＴＥＳＴ',
    playerRating: 14509,
    highestRating: 14509,
    playerOldRating: 10140,
    playerNewRating: 4369,
    iconId: 200201,
    plateId: 200201,
    titleId: 300022,
    partnerId: 17,
    frameId: 300101,
    courseRank: 11,
    classRank: 7,
    totalAwake: 82,
    charaSlot: [101, 102, 103, 104, 105],
    playCount: 510,
    currentPlayCount: 120,
    point: 5000,
    mapStock: 0,
    isNetMember: 1,
    lastRomVersion: '1.41.00',
    lastDataVersion: '1.40.08',
    lastRegionId: 1,
    lastRegionName: 'Beijing',
    firstPlayDate: '2024-03-27T05:45:15.000Z',
    lastLoginDate: '2026-08-06T13:00:00.000Z',
    lastPlayDate: PLAYED,
  },
})

export const REGIONS = success({
  ...USER,
  length: 1,
  userRegionList: [{ regionId: 1, playCount: 40, created: '2024-03-27T05:45:15.000Z' }],
})

export const TICKETS = success({
  ...USER,
  length: 1,
  userChargeList: [TICKET],
  userFreeChargeList: [{ chargeId: 11001, stock: 1 }],
})

export const ITEMS = success({
  ...USER,
  length: 2,
  nextIndex: 0,
  userItemList: [1, 11].map((itemId) => ({ itemKind: 3, itemId, stock: 1, isValid: true })),
})

export const GATES = success({ ...USER, length: 1, userKaleidxScopeList: [GATE] })

export const MUSIC = success({
  ...USER,
  length: 1,
  nextIndex: 0,
  userMusicList: [{ userMusicDetailList: [DETAIL] }],
})

export const UPSERTED = success({ created: 1, updated: 0, unchanged: 0, userMusicDetailList: [DETAIL] })
export const DELETED = success({ deleted: 1, musicList: [{ musicId: 11466, level: 3 }] })
export const CLEARED = success({ deleted: 3 })
export const CHARGED = success({ userCharge: TICKET })
export const TICKETS_CLEARED = success({ clearedKinds: 1, clearedStock: 3 })

export const UPDATED = (platform: 'lxns' | 'fish') =>
  success({
    platform,
    mode: 'pull',
    pull: {
      fetched: 1702,
      created: 12,
      updated: 31,
      unchanged: 1657,
      skipped: 2,
      skippedRecords: [{ id: 1484, type: 'dx', level_index: 2, reason: 'music_not_found' }],
    },
    push: null,
    startedAt: BOUGHT,
    finishedAt: '2026-08-06T14:06:28.150Z',
  })
