import { MAX_ACHIEVEMENT, MAX_BUDDY_ACHIEVEMENT, parseAchievement } from '../music/achievement.ts'
import type { Catalogue, Chart } from '../music/catalogue.ts'
import { fromFish, kindOf } from '../music/ids.ts'
import { levelLabel, RATES, rateOf } from '../music/labels.ts'
import { COMBO, SYNC } from '../music/lamps.ts'
import { chartRating } from '../music/rating.ts'
import { type Named, namedCharts } from './named.ts'
import { keyOf, larger, type ScoreRecord } from './record.ts'
import type { SentRecord } from './schemas/requests.ts'

/** What became of the records of a request. */
export interface Judged {
  /** One for each key. */
  readonly records: readonly ScoreRecord[]
  /** By the other records. */
  readonly named: Named
  /** One text for each record that cannot be used. */
  readonly errors: readonly string[]
}

const MAX_DS = 20
const MAX_RA = 999
/** No chart has as many notes; bounds the DX score where the catalogue does not know the chart. */
const MAX_DX_SCORE = 99_999
/** Of a title or a level; longer ones are a mistake. */
const MAX_TEXT = 256

export function judgeRecords(sent: readonly SentRecord[], catalogue: Catalogue): Judged {
  const records = new Map<string, ScoreRecord>()
  const named = namedCharts()
  const errors: string[] = []
  sent.forEach((each, index) => {
    const record = judge(each, catalogue)
    if ('problem' in record) {
      errors.push(`records[${index}] (song_id ${each.song_id}, level_index ${each.level_index}): ${record.problem}`)
      named.add(each, record.key)
      return
    }
    const twin = records.get(keyOf(record))
    records.set(keyOf(record), twin === undefined ? record : larger(twin, record))
  })
  return { records: [...records.values()], named, errors }
}

/** A record that cannot be stored. @param key its chart; `null` where that is in doubt */
interface Unusable {
  readonly problem: string
  readonly key: { readonly songId: number; readonly levelIndex: number } | null
}

function judge(sent: SentRecord, catalogue: Catalogue): ScoreRecord | Unusable {
  const id = fromFish({ songId: sent.song_id, type: sent.type === 'DX' ? 'DX' : 'SD', levelIndex: sent.level_index })
  const chart = catalogue.chart(id.musicId, id.level)
  const facts = { songId: id.musicId, levelIndex: sent.level_index, isUtage: kindOf(id.musicId) === 'utage', chart }
  const doubt = problemWithKey(sent, facts)
  if (doubt !== null) return { problem: doubt, key: null }
  const achievement = achievementOf(sent.achievements, facts)
  const problem = problemWithValues(sent, facts)
  if (problem !== null) return { problem, key: facts }
  if (achievement !== null) return complete(sent, facts, achievement)
  return { problem: `achievements is not within 0 to ${maxAchievement(facts) / 10_000}`, key: facts }
}

interface Facts {
  readonly songId: number
  readonly levelIndex: number
  readonly isUtage: boolean
  readonly chart: Chart | undefined
}

function problemWithKey({ song_id, type, level_index }: SentRecord, { songId, isUtage }: Facts): string | null {
  if (type != null && type !== 'SD' && type !== 'DX') return 'type is neither SD nor DX'
  if (!isSongId(song_id)) return 'song_id names no song'
  if (type === 'SD' && songId >= 10_000 && !isUtage) return 'song_id is that of a DX chart, and type is SD'
  const last = isUtage ? 1 : 4
  return level_index >= 0 && level_index <= last ? null : `level_index is not within 0 to ${last}`
}

function isSongId(id: number): boolean {
  return (id >= 1 && id <= 9999) || (id >= 10_001 && id <= 19_999) || (id >= 100_001 && id <= 999_999)
}

function problemWithValues(sent: SentRecord, { chart }: Facts): string | null {
  const maxDxScore = chart?.maxDxScore ?? MAX_DX_SCORE
  if (!isWithin(sent.dxScore, maxDxScore)) return `dxScore is not within 0 to ${maxDxScore}`
  if (!isWithin(sent.ds, MAX_DS)) return `ds is not within 0 to ${MAX_DS}`
  if (!isWithin(sent.ra, MAX_RA)) return `ra is not within 0 to ${MAX_RA}`
  if (sent.rate && !RATES.includes(sent.rate)) return `rate is none of ${RATES.join(', ')}`
  if (sent.fc && !COMBO.has(sent.fc)) return 'fc is none of fc, fcp, ap, app'
  if (sent.fs && !SYNC.has(sent.fs)) return 'fs is none of sync, fs, fsp, fsd, fdx, fsdp, fdxp'
  const isLong = [sent.title, sent.level, sent.level_label].some((text) => text != null && text.length > MAX_TEXT)
  return isLong ? `title, level or level_label is longer than ${MAX_TEXT} characters` : null
}

function isWithin(value: number | null | undefined, max: number): boolean {
  return value == null || (value >= 0 && value <= max)
}

function maxAchievement({ chart, isUtage }: Facts): number {
  return chart?.maxAchievement ?? (isUtage ? MAX_BUDDY_ACHIEVEMENT : MAX_ACHIEVEMENT)
}

/** Percent only: the platforms know no other unit here. The text of a number is exact, the number need not be. */
function achievementOf(percent: number, facts: Facts): number | null {
  const max = maxAchievement(facts)
  return percent * 10_000 <= max ? parseAchievement(String(percent), max) : null
}

/** Says what the client did not: from the catalogue, and from what follows from the rest. */
function complete(sent: SentRecord, { songId, levelIndex, isUtage, chart }: Facts, achievement: number): ScoreRecord {
  const constant = sent.ds == null ? (chart?.constant ?? 0) : Math.round(sent.ds * 10)
  return {
    songId,
    levelIndex,
    title: textOf(sent.title) || (chart?.title ?? ''),
    level: textOf(sent.level) || (chart?.levelLabel ?? ''),
    levelLabel: textOf(sent.level_label) || levelLabel(isUtage ? 10 : levelIndex),
    constant,
    achievement,
    ra: isUtage ? 0 : ratingOf(sent, chart, chartRating(achievement, constant)),
    rate: sent.rate || rateOf(achievement),
    dxScore: sent.dxScore ?? 0,
    combo: COMBO.get(sent.fc || 'none') ?? 0,
    sync: SYNC.get(sent.fs || 'none') ?? 0,
  }
}

/** Of a chart that the catalogue does not know, a constant says more than a rating. */
function ratingOf({ ra, ds }: SentRecord, chart: Chart | undefined, computed: number): number {
  const isComputed = chart === undefined ? ds != null : ra == null
  return isComputed ? computed : (ra ?? 0)
}

/** A lone half of a pair is no character, and would come back from the database as another one. */
function textOf(text: string | null | undefined): string {
  return text?.toWellFormed() ?? ''
}
