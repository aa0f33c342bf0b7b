import { reading } from './backend.ts'
import type { Player } from './players.ts'
import { emptyBody, itemListBody } from './schemas/requests.ts'

/** POST /v1/user/data */
export const userData = reading(emptyBody, ({ store }, userId) => {
  const { profile, ratings } = store.players.find(userId)
  const { userName, banState, ...rest } = profile
  return { userId, banState, userData: { userName, ...ratings, ...rest } }
})

/** POST /v1/user/preview: the light form of the user data. */
export const userPreview = reading(emptyBody, ({ store }, userId) => previewOf(userId, store.players.find(userId)))

/** POST /v1/user/region */
export const userRegions = reading(emptyBody, ({ store }, userId) => {
  const userRegionList = store.items.regions(userId)
  return { userId, length: userRegionList.length, userRegionList }
})

/** POST /v1/user/kaleidx-scope: the status of the user's Gates. */
export const userGates = reading(emptyBody, ({ store }, userId) => {
  const userKaleidxScopeList = store.gates.list(userId)
  return { userId, length: userKaleidxScopeList.length, userKaleidxScopeList }
})

/** POST /v1/user/item-list: the user's items, of one kind only with `itemKind`. */
export const userItems = reading(itemListBody, ({ store }, userId, { itemKind }) => {
  const userItemList = store.items.list(userId, itemKind)
  return { userId, length: userItemList.length, nextIndex: 0, userItemList }
})

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
