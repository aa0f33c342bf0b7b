import type { Database } from '../common/database.ts'
import type { Rating } from '../music/rating.ts'
import type { Profile, ProfilePatch, Ratings } from './schemas/fixture.ts'

/** The first userId that is given out. */
const FIRST_PLAYER = 10_000_001

/** The profile of a player before anything is imported. */
const NEW_PROFILE: Profile = {
  userName: '',
  iconId: 0,
  plateId: 0,
  titleId: 0,
  partnerId: 0,
  frameId: 0,
  courseRank: 0,
  classRank: 0,
  totalAwake: 0,
  charaSlot: [0, 0, 0, 0, 0],
  playCount: 0,
  currentPlayCount: 0,
  point: 0,
  mapStock: 0,
  isNetMember: 0,
  banState: 0,
  lastRomVersion: '',
  lastDataVersion: '',
  lastRegionId: 0,
  lastRegionName: '',
  firstPlayDate: null,
  lastLoginDate: null,
  lastPlayDate: null,
}

type Row = Ratings & { readonly profile: string }

export interface Player {
  readonly profile: Profile
  readonly ratings: Ratings
}

/** The players by gateway user. All but `idOf` run inside a transaction of the caller. */
export interface Players {
  /** The userId of a gateway user. A new user gets an empty player. @throws DatabaseBusy */
  idOf(user: string): Promise<number>
  /** Does the same as `idOf`, inside a write of the caller. */
  enter(user: string): number
  find(player: number): Player
  /** Sets the rating. The highest rating never falls. */
  setRating(player: number, rating: Rating): void
  setRatings(player: number, ratings: Ratings): void
  /** Writes the given members and leaves the others. */
  mergeProfile(player: number, profile: ProfilePatch): void
}

export function createPlayers(db: Database): Players {
  const select = db.prepare('SELECT player FROM players WHERE user = ?')
  const insert = db.prepare(
    `INSERT INTO players (player, user) SELECT coalesce(max(player) + 1, ${FIRST_PLAYER}), ? FROM players`,
  )
  const row = db.prepare(
    `SELECT profile, rating AS playerRating, highest_rating AS highestRating, old_rating AS playerOldRating,
       new_rating AS playerNewRating FROM players WHERE player = ?`,
  )
  const update = db.prepare(
    'UPDATE players SET rating = ?, old_rating = ?, new_rating = ?, highest_rating = max(?, highest_rating) WHERE player = ?',
  )
  const force = db.prepare(
    'UPDATE players SET rating = ?, old_rating = ?, new_rating = ?, highest_rating = ? WHERE player = ?',
  )
  const merge = db.prepare('UPDATE players SET profile = json_patch(profile, ?) WHERE player = ?')

  const known = (user: string) => select.get(user)?.player as number | undefined
  const enter = (user: string) => known(user) ?? Number(insert.run(user).lastInsertRowid)

  return {
    idOf: async (user) => (await db.read(() => known(user))) ?? db.write(() => enter(user)),
    enter,
    find(player) {
      const { profile, ...ratings } = row.get(player) as unknown as Row
      return { profile: { ...NEW_PROFILE, ...JSON.parse(profile) }, ratings }
    },
    setRating: (player, rating) => void update.run(rating.total, rating.old, rating.new, rating.total, player),
    setRatings: (player, r) =>
      void force.run(r.playerRating, r.playerOldRating, r.playerNewRating, r.highestRating, player),
    mergeProfile: (player, profile) => void merge.run(JSON.stringify(profile), player),
  }
}
