import { type Backend, type Call, type Handler, success } from './backend.ts'
import { isRefusal, type Refusal } from './errors.ts'
import type { Player } from './players.ts'
import { emptyBody, itemListBody, readBy } from './schemas/requests.ts'

/** POST /v1/user/data */
export const userData: Handler = (backend, call) =>
  query(backend, call, (userId) => {
    const player = backend.store.players.find(userId)
    return { userId, banState: player.profile.banState, userData: userDataOf(player) }
  })

/** POST /v1/user/preview: the light form of the user data. */
export const userPreview: Handler = (backend, call) =>
  query(backend, call, (userId) => previewOf(userId, backend.store.players.find(userId)))

/** POST /v1/user/region */
export const userRegions: Handler = (backend, call) =>
  query(backend, call, (userId) => {
    const userRegionList = backend.store.items.regions(userId)
    return { userId, length: userRegionList.length, userRegionList }
  })

/** POST /v1/user/kaleidx-scope: the status of the user's Gates. */
export const userGates: Handler = (backend, call) =>
  query(backend, call, (userId) => {
    const userKaleidxScopeList = backend.store.gates.list(userId)
    return { userId, length: userKaleidxScopeList.length, userKaleidxScopeList }
  })

/** POST /v1/user/item-list: the user's items, of one kind only with `itemKind`. */
export const userItems: Handler = async ({ store }, { user, body }) => {
  const filter = readBy(itemListBody, body)
  if (isRefusal(filter)) return filter
  const userId = await store.players.idOf(user)
  const userItemList = await store.read(() => store.items.list(userId, filter.itemKind))
  return success({ userId, length: userItemList.length, nextIndex: 0, userItemList })
}

/** A read without parameters. */
async function query(
  { store }: Backend,
  { user, body }: Call,
  response: (userId: number) => object,
): Promise<object | Refusal> {
  const empty = readBy(emptyBody, body)
  if (isRefusal(empty)) return empty
  const userId = await store.players.idOf(user)
  return success(await store.read(() => response(userId)))
}

function userDataOf({ profile, ratings }: Player) {
  return {
    userName: profile.userName,
    playerRating: ratings.playerRating,
    highestRating: ratings.highestRating,
    playerOldRating: ratings.playerOldRating,
    playerNewRating: ratings.playerNewRating,
    iconId: profile.iconId,
    plateId: profile.plateId,
    titleId: profile.titleId,
    partnerId: profile.partnerId,
    frameId: profile.frameId,
    courseRank: profile.courseRank,
    classRank: profile.classRank,
    totalAwake: profile.totalAwake,
    charaSlot: profile.charaSlot,
    playCount: profile.playCount,
    currentPlayCount: profile.currentPlayCount,
    point: profile.point,
    mapStock: profile.mapStock,
    isNetMember: profile.isNetMember,
    lastRomVersion: profile.lastRomVersion,
    lastDataVersion: profile.lastDataVersion,
    lastRegionId: profile.lastRegionId,
    lastRegionName: profile.lastRegionName,
    firstPlayDate: profile.firstPlayDate,
    lastLoginDate: profile.lastLoginDate,
    lastPlayDate: profile.lastPlayDate,
  }
}

/** The constants stand for data that this service does not have: sessions, bonuses, settings of the machine. */
function previewOf(userId: number, { profile, ratings }: Player) {
  return {
    userId,
    userName: profile.userName,
    isLogin: false,
    lastGameId: '',
    lastDataVersion: profile.lastDataVersion,
    lastRomVersion: profile.lastRomVersion,
    lastLoginDate: profile.lastLoginDate,
    lastPlayDate: profile.lastPlayDate,
    playerRating: ratings.playerRating,
    nameplateId: profile.plateId,
    iconId: profile.iconId,
    trophyId: profile.titleId,
    partnerId: profile.partnerId,
    frameId: profile.frameId,
    totalAwake: profile.totalAwake,
    isNetMember: profile.isNetMember,
    dailyBonusDate: null,
    banState: profile.banState,
    isInherit: false,
    dispRate: 0,
    headPhoneVolume: 0,
  }
}
