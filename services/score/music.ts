import type { Catalogue } from '../music/catalogue.ts'
import { type Handler, reading, success, writing } from './backend.ts'
import { isRefusal } from './errors.ts'
import { clearBody, emptyBody, musicList, readBy, type ScoreKey } from './schemas/requests.ts'
import type { MusicDetail } from './scores.ts'
import { rerate, type Store } from './store.ts'
import { allOrNothing, judgeKeys, judgeScores, missing, type Verdict } from './verdicts.ts'

/** POST /v1/music/upsert: writes scores as they are sent, also over better ones. */
export const upsertMusic: Handler = async ({ store, catalogue, listLimit }, { user, body }) => {
  const list = readBy(musicList(listLimit), body)
  if (isRefusal(list)) return list
  const scores = allOrNothing(judgeScores(list.musicList, catalogue))
  if (isRefusal(scores)) return scores

  const player = await store.players.idOf(user)
  return store.write(() => {
    const counts = { created: 0, updated: 0, unchanged: 0 }
    for (const score of scores) counts[store.scores.put(player, score)]++
    rerate(store, catalogue, player)
    return success({ ...counts, userMusicDetailList: scores.map((score) => store.scores.find(player, score)) })
  })
}

/** POST /v1/music/delete: deletes scores, all of those named or none. */
export const deleteMusic: Handler = async ({ store, catalogue, listLimit }, { user, body }) => {
  const list = readBy(musicList(listLimit), body)
  if (isRefusal(list)) return list
  const judged = judgeKeys(list.musicList)

  const player = await store.players.idOf(user)
  return store.write(() => {
    const keys = allOrNothing(judged.map((verdict, index) => stored(store, catalogue, player, verdict, index)))
    if (isRefusal(keys)) return keys
    for (const key of keys) store.scores.delete(player, key)
    rerate(store, catalogue, player)
    return success({ deleted: keys.length, musicList: keys })
  })
}

/** A score of a chart that has left the catalogue can still be deleted. */
function stored(store: Store, catalogue: Catalogue, player: number, verdict: Verdict<ScoreKey>, index: number) {
  if ('problems' in verdict) return verdict
  const key = verdict.record
  if (store.scores.find(player, key) !== undefined) return verdict
  return catalogue.chart(key.musicId, key.level) === undefined
    ? missing('music_not_found', key, index, 'no such chart in the catalogue')
    : missing('score_not_found', key, index, 'the user has no such score')
}

/** POST /v1/music/clear: deletes all scores of the user. */
export const clearMusic = writing(clearBody, ({ store, catalogue }, userId) => {
  const deleted = store.scores.clear(userId)
  rerate(store, catalogue, userId)
  return { deleted }
})

/** POST /v1/user/music: all scores of the user, one group for each musicId. */
export const listMusic = reading(emptyBody, ({ store }, userId) => {
  const groups = groupsOf(store.scores.list(userId))
  return { userId, length: groups.length, nextIndex: 0, userMusicList: groups }
})

function groupsOf(scores: readonly MusicDetail[]) {
  const groups = Map.groupBy(scores, (score) => score.musicId)
  return [...groups.values()].map((userMusicDetailList) => ({ userMusicDetailList }))
}
