import * as z from 'zod'
import { percentOf } from '../../music/achievement.ts'
import { fromFish, toFish } from '../../music/ids.ts'
import { comboName, syncName } from '../../music/labels.ts'
import { isRefusal } from '../errors.ts'
import type { Platform } from './platform.ts'
import { achievements, combo, dxScore, nameOf, records, sync } from './records.ts'

const record = z.object({
  song_id: z.int(),
  type: z.enum(['SD', 'DX']),
  level_index: z.int(),
  achievements,
  fc: combo,
  fs: sync,
  dxScore,
})

const pulled = z.object({ records }).transform((sent) => sent.records)
const count = z.int().min(0).default(0)
const pushed = z
  .object({ message: z.string(), status: z.unknown().optional(), updates: count, creates: count })
  .refine(({ status }) => status !== 'error')

/** Diving-Fish (https://www.diving-fish.com), with an import token of the user, or an access token. */
export const fish: Platform = {
  name: 'fish',
  title: 'Diving-Fish',
  tokenHeader: 'Import-Token',
  isBadToken: (status, message) => status === 400 && message.includes('导入token有误'),
  pull: { method: 'GET', path: '/player/records', response: pulled },
  read(sent) {
    const { success, data } = record.safeParse(sent)
    if (!success) return null
    const { song_id: songId, type, level_index: levelIndex } = data
    return {
      ...fromFish({ songId, type, levelIndex }),
      achievements: data.achievements,
      dxScore: data.dxScore,
      comboStatus: data.fc,
      syncStatus: data.fs,
    }
  },
  nameOf: (sent) => nameOf(sent, 'song_id'),
  nameFor(chart) {
    const { songId, type, levelIndex } = toFish(chart)
    return { id: songId, type, level_index: levelIndex }
  },
  /** The platform finds the song by title and type: if two songs share them, one would overwrite the other. */
  write({ musicId, level, achievement, comboStatus, syncStatus, deluxscoreMax }, { title, sharesTitle }) {
    if (sharesTitle) return 'ambiguous_title'
    const { type, levelIndex } = toFish({ musicId, level })
    return {
      title,
      type,
      level_index: levelIndex,
      achievements: percentOf(achievement),
      dxScore: deluxscoreMax,
      fc: comboName(comboStatus),
      fs: syncName(syncStatus),
    }
  },
  /** The platform silently leaves out charts that it does not know. Only the number of accepted records shows it. */
  async push(ask, batch) {
    const body = batch.map(({ wire }) => wire)
    const response = await ask({ method: 'POST', path: '/player/update_records', body, response: pushed })
    return isRefusal(response) ? response : { accepted: response.said.updates + response.said.creates, skipped: [] }
  },
}
