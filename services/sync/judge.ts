import { MAX_ACHIEVEMENT, MAX_BUDDY_ACHIEVEMENT, parseAchievement } from '../music/achievement.ts'
import type { Catalogue, Chart } from '../music/catalogue.ts'
import { fromFish, isSongId, kindOf } from '../music/ids.ts'
import { levelLabel, rateOf } from '../music/labels.ts'
import { scoreRating } from '../music/rating.ts'
import { type Named, namedCharts } from './named.ts'
import { keyOf, larger, type ScoreRecord } from './record.ts'
import type { SentRecord } from './schemas/requests.ts'
import { comboOf, rateIn, syncOf, typeOf } from './words.ts'

/** The results for the records of a request. */
export interface Judged {
  /** One record for each key. */
  readonly records: readonly ScoreRecord[]
  /** The charts that are named by the records that cannot be used. */
  readonly named: Named
  /** One text for each record that cannot be used. */
  readonly errors: readonly string[]
  /** One text for each record with an unknown word. */
  readonly warnings: readonly string[]
  /** Keys of records with an unknown word. It counts as no lamp, which must not lower a stored lamp. */
  readonly doubtful: ReadonlySet<string>
}

const MAX_DS = 20
const MAX_RA = 999
/** The bound of the DX score on charts that the catalogue does not know. No chart reaches it. */
const MAX_DX_SCORE = 99_999
/** The most characters of a title or a level. A longer text is a mistake. */
const MAX_TEXT = 256

export function judgeRecords(sent: readonly SentRecord[], catalogue: Catalogue): Judged {
  const records = new Map<string, ScoreRecord>()
  const named = namedCharts()
  const errors: string[] = []
  const warnings: string[] = []
  const doubtful = new Set<string>()
  sent.forEach((each, index) => {
    const record = judge(each, catalogue)
    const name = `records[${index}] (song_id ${each.song_id}, level_index ${each.level_index})`
    if ('problem' in record) {
      errors.push(`${name}: ${record.problem}`)
      named.add(each, record.key)
      return
    }
    const unknown = unknownLamps(each)
    if (unknown.length > 0) {
      doubtful.add(keyOf(record))
      warnings.push(`${name}: ${unknown.join(' and ')} is no lamp that is known, and counts as none`)
    }
    const twin = records.get(keyOf(record))
    records.set(keyOf(record), twin === undefined ? record : larger(twin, record))
  })
  return { records: [...records.values()], named, errors, warnings, doubtful }
}

/** A record that cannot be stored. `key` is its chart; `null` if it is in doubt which chart is meant. */
interface Unusable {
  readonly problem: string
  readonly key: { readonly songId: number; readonly levelIndex: number } | null
}

function unknownLamps({ fc, fs }: SentRecord): string[] {
  return [comboOf(fc) === undefined ? 'fc' : '', syncOf(fs) === undefined ? 'fs' : ''].filter((name) => name !== '')
}

function judge(sent: SentRecord, catalogue: Catalogue): ScoreRecord | Unusable {
  const type = typeOf(sent.type) === 'dx' ? 'DX' : 'SD'
  const id = fromFish({ songId: sent.song_id, type, levelIndex: sent.level_index })
  const chart = catalogue.chart(id.musicId, id.level)
  const facts = { songId: id.musicId, levelIndex: sent.level_index, isUtage: kindOf(id.musicId) === 'utage', chart }
  const doubt = problemWithKey(sent, facts)
  if (doubt !== null) return { problem: doubt, key: null }
  const achievement = achievementOf(sent.achievements, facts)
  const problem = problemWithValues(sent, facts)
  if (problem !== null) return { problem, key: facts }
  if (achievement !== null) return complete(sent, facts, achievement, catalogue)
  return { problem: `achievements is not within 0 to ${maxAchievement(facts) / 10_000}`, key: facts }
}

interface Facts {
  readonly songId: number
  readonly levelIndex: number
  readonly isUtage: boolean
  readonly chart: Chart | undefined
}

function problemWithKey({ song_id, type: word, level_index }: SentRecord, { songId, isUtage }: Facts): string | null {
  const type = typeOf(word)
  if (type === undefined) return 'type is none of SD, standard, DX, utage'
  if (!isSongId(song_id)) return 'song_id names no song'
  if (type === 'standard' && songId >= 10_000 && !isUtage) return 'song_id is that of a DX chart, and type is SD'
  if (type === 'utage' && !isUtage) return 'song_id is that of no utage chart, and type is utage'
  const last = isUtage ? 1 : 4
  return level_index >= 0 && level_index <= last ? null : `level_index is not within 0 to ${last}`
}

function problemWithValues(sent: SentRecord, { chart }: Facts): string | null {
  const maxDxScore = chart?.maxDxScore ?? MAX_DX_SCORE
  if (!isWithin(sent.dxScore, maxDxScore)) return `dxScore is not within 0 to ${maxDxScore}`
  if (!isWithin(sent.ds, MAX_DS)) return `ds is not within 0 to ${MAX_DS}`
  if (!isWithin(sent.ra, MAX_RA)) return `ra is not within 0 to ${MAX_RA}`
  const isLong = [sent.title, sent.level, sent.level_label].some((text) => text != null && text.length > MAX_TEXT)
  return isLong ? `title, level or level_label is longer than ${MAX_TEXT} characters` : null
}

function isWithin(value: number | null | undefined, max: number): boolean {
  return value == null || (value >= 0 && value <= max)
}

function maxAchievement({ chart, isUtage }: Facts): number {
  return chart?.maxAchievement ?? (isUtage ? MAX_BUDDY_ACHIEVEMENT : MAX_ACHIEVEMENT)
}

/** Reads percent, the only unit of the platforms here. The text of the double is the decimal number that was sent. */
function achievementOf(percent: number, facts: Facts): number | null {
  const max = maxAchievement(facts)
  return percent * 10_000 <= max ? parseAchievement(String(percent), max) : null
}

/** Adds what the client left out: from the catalogue, and from the other values. */
function complete(
  sent: SentRecord,
  { songId, levelIndex, isUtage, chart }: Facts,
  achievement: number,
  catalogue: Catalogue,
): ScoreRecord {
  const constant = sent.ds == null ? (chart?.constant ?? 0) : Math.round(sent.ds * 10)
  const combo = comboOf(sent.fc) ?? 0
  const rated = chart ?? { constant, utage: isUtage }
  // On a chart that the catalogue does not know, the sent rating is taken only if there is no constant to compute it from.
  const isAsSent = chart === undefined && sent.ds == null && !isUtage
  return {
    songId,
    levelIndex,
    title: textOf(sent.title) || (chart?.title ?? ''),
    level: textOf(sent.level) || (chart?.levelLabel ?? ''),
    levelLabel: textOf(sent.level_label) || levelLabel(isUtage ? 10 : levelIndex),
    constant,
    achievement,
    ra: isAsSent ? (sent.ra ?? 0) : scoreRating({ achievement, comboStatus: combo }, rated, catalogue),
    rate: rateIn(sent.rate) ?? rateOf(achievement),
    dxScore: sent.dxScore ?? 0,
    combo,
    sync: syncOf(sent.fs) ?? 0,
  }
}

/** A lone half of a surrogate pair is no character, and the database would return another one. */
function textOf(text: string | null | undefined): string {
  return text?.toWellFormed() ?? ''
}
