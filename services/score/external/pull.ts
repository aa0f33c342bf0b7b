import { parsePercent } from '../../music/achievement.ts'
import { bestOf } from '../../music/best.ts'
import type { Catalogue } from '../../music/catalogue.ts'
import type { Backend } from '../backend.ts'
import { isRefusal, type Refusal } from '../errors.ts'
import type { NewScore, Scores, Written } from '../scores.ts'
import { rerate } from '../store.ts'
import type { Ask, Foreign, Platform, Reason, Skipped } from './platform.ts'
import { reportOf } from './report.ts'

export interface Pulled {
  readonly report: object
  /** Charts, as `musicId/level`, whose scores on the platform could not be read. */
  readonly unread: ReadonlyMap<string, Reason>
}

interface Source {
  readonly platform: Platform
  readonly ask: Ask
  readonly player: number
}

/** Reads the user's records and merges them into the store. No stored value is lowered. */
export async function pull(
  { store, catalogue }: Backend,
  { platform, ask, player }: Source,
): Promise<Pulled | Refusal> {
  const response = await ask(platform.pull)
  if (isRefusal(response)) return response
  const scores: NewScore[] = []
  const skipped: Skipped[] = []
  const unread = new Map<string, Reason>()
  for (const record of response.said) {
    const foreign = platform.read(record)
    const score = foreign === null ? 'invalid_record' : judge(foreign, catalogue)
    if (typeof score === 'object') scores.push(score)
    else skipped.push({ ...platform.nameOf(record), reason: score })
    if (typeof score === 'string' && foreign !== null) unread.set(`${foreign.musicId}/${foreign.level}`, score)
  }
  // Read and written in one transaction: another update of the same user comes before or after, never between.
  const counts = await store.write(() => {
    const counted = { created: 0, updated: 0, unchanged: 0 }
    for (const score of scores) counted[keepBest(store.scores, player, score)]++
    rerate(store, catalogue, player)
    return counted
  })
  return { report: { fetched: response.said.length, ...counts, ...reportOf(skipped.length, skipped) }, unread }
}

function judge({ musicId, level, achievements, ...rest }: Foreign, catalogue: Catalogue): NewScore | Reason {
  const chart = catalogue.chart(musicId, level)
  if (chart === undefined) return 'music_not_found'
  const achievement = parsePercent(achievements, chart.maxAchievement)
  if (achievement === null) return 'achievement_out_of_range'
  if (rest.dxScore < 0 || rest.dxScore > chart.maxDxScore) return 'dx_score_out_of_range'
  return { musicId, level, achievement, ...rest }
}

function keepBest(scores: Scores, player: number, score: NewScore): Written {
  const old = scores.find(player, score)
  if (old === undefined) return scores.put(player, score)
  const { musicId, level } = score
  return scores.put(player, { musicId, level, ...bestOf({ ...old, dxScore: old.deluxscoreMax }, score) })
}
