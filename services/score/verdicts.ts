import { parseAchievement } from '../music/achievement.ts'
import type { Catalogue } from '../music/catalogue.ts'
import { dxScoreOfStar, MAX_STAR } from '../music/stars.ts'
import { type Detail, type ErrorCode, type Refusal, refuse } from './errors.ts'
import { detailsOf, type ScoreKey, type ScoreRecord, scoreKey, scoreRecord } from './schemas/requests.ts'
import type { NewScore } from './scores.ts'

/** A problem of one record of a list. */
interface Problem {
  readonly code: ErrorCode
  readonly text: string
  readonly detail: Detail
}

/** The result for one record. */
export type Verdict<T> = { readonly record: T } | { readonly problems: readonly Problem[] }

/** If records have problems of several kinds, the refusal has the first of these codes that occurs. */
const GRAVEST: readonly ErrorCode[] = ['invalid_request', 'music_not_found', 'score_not_found', 'dx_score_out_of_range']

/** The records of a list, or the refusal that names every bad one of them. */
export function allOrNothing<T>(verdicts: readonly Verdict<T>[]): readonly T[] | Refusal {
  const problems = verdicts.flatMap((verdict) => ('problems' in verdict ? verdict.problems : []))
  const code = GRAVEST.find((candidate) => problems.some((problem) => problem.code === candidate))
  if (code === undefined) return verdicts.flatMap((verdict) => ('record' in verdict ? [verdict.record] : []))
  const first = problems.find((problem) => problem.code === code)
  return refuse(
    code,
    `musicList[${first?.detail.index}]: ${first?.text}`,
    problems.map((problem) => problem.detail),
  )
}

/** Judges the records of an upsert against the catalogue and turns them into scores to store. */
export function judgeScores(list: readonly unknown[], catalogue: Catalogue): Verdict<NewScore>[] {
  return withoutTwins(
    list.map((sent, index): Verdict<NewScore> => {
      const parsed = scoreRecord.safeParse(sent)
      return parsed.success ? judgeScore(parsed.data, index, catalogue) : malformed(parsed.error, index)
    }),
  )
}

/** Judges the form of the keys of a delete. */
export function judgeKeys(list: readonly unknown[]): Verdict<ScoreKey>[] {
  return withoutTwins(
    list.map((sent, index): Verdict<ScoreKey> => {
      const parsed = scoreKey.safeParse(sent)
      return parsed.success ? { record: parsed.data } : malformed(parsed.error, index)
    }),
  )
}

export function missing(code: ErrorCode, { musicId, level }: ScoreKey, index: number, text: string): Verdict<never> {
  return { problems: [{ code, text, detail: { index, musicId, level, field: 'musicId', problem: text } }] }
}

function judgeScore(sent: ScoreRecord, index: number, catalogue: Catalogue): Verdict<NewScore> {
  const { musicId, level, comboStatus, syncStatus } = sent
  const chart = catalogue.chart(musicId, level)
  if (chart === undefined) return missing('music_not_found', sent, index, 'no such chart in the catalogue')
  const achievement = parseAchievement(sent.achievement, chart.maxAchievement)
  const dxScore = dxScoreOf(sent, index, chart.maxDxScore)
  const problems = [
    ...(achievement === null ? [badAchievement(sent, index)] : []),
    ...('code' in dxScore ? [dxScore] : []),
  ]
  if (achievement === null || 'code' in dxScore) return { problems }
  return { record: { musicId, level, achievement, comboStatus, syncStatus, dxScore: dxScore.value } }
}

/** In exact mode the sent number; in fuzzy mode the least score with the sent stars. */
function dxScoreOf(
  { musicId, level, dxScore, fuzzy }: ScoreRecord,
  index: number,
  max: number,
): { value: number } | Problem {
  if (fuzzy) {
    if (dxScore >= 0 && dxScore <= MAX_STAR) return { value: dxScoreOfStar(dxScore, max) }
    const text = `dxScore is a number of stars in fuzzy mode, from 0 to ${MAX_STAR}`
    return { code: 'invalid_request', text, detail: { index, musicId, level, field: 'dxScore', problem: text } }
  }
  if (dxScore >= 0 && dxScore <= max) return { value: dxScore }
  const text = dxScore < 0 ? `dxScore ${dxScore} is below 0` : `dxScore ${dxScore} exceeds the chart maximum ${max}`
  return { code: 'dx_score_out_of_range', text, detail: { index, musicId, level, field: 'dxScore', max } }
}

function badAchievement({ musicId, level }: ScoreRecord, index: number): Problem {
  const text = 'achievement is neither a percentage in range nor an integer of percent x 10000'
  return { code: 'invalid_request', text, detail: { index, musicId, level, field: 'achievement', problem: text } }
}

function malformed(error: Parameters<typeof detailsOf>[0], index: number): Verdict<never> {
  const problems = detailsOf(error).map(({ field, problem }) => ({
    code: 'invalid_request' as const,
    text: `${field}: ${problem}`,
    detail: { index, field, problem },
  }))
  return { problems }
}

/** A list may have a chart only once. With two entries their order would decide which one holds. */
function withoutTwins<T extends ScoreKey>(verdicts: Verdict<T>[]): Verdict<T>[] {
  const seen = new Set<string>()
  return verdicts.map((verdict, index) => {
    if ('problems' in verdict) return verdict
    const { musicId, level } = verdict.record
    const key = `${musicId}/${level}`
    if (!seen.has(key)) {
      seen.add(key)
      return verdict
    }
    const text = 'the same musicId and level stand earlier in the list'
    return {
      problems: [{ code: 'invalid_request', text, detail: { index, musicId, level, field: 'musicId', problem: text } }],
    }
  })
}
