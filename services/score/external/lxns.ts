import * as z from 'zod'
import { percentOf } from '../../music/achievement.ts'
import { fromLxns, toLxns } from '../../music/ids.ts'
import { comboName, syncName } from '../../music/labels.ts'
import { isRefusal, type Refusal } from '../errors.ts'
import type { Outbound, Platform, RecordName, Skipped } from './platform.ts'
import { achievements, combo, dxScore, nameOf, records, sync } from './records.ts'

const PATH = '/api/v0/user/maimai/player/scores'

/** How often one batch is sent again. A batch of 500 with this many bad records is not worth more requests. */
const MAX_RESENDS = 100

const record = z.object({
  id: z.int(),
  type: z.enum(['standard', 'dx', 'utage']),
  level_index: z.int(),
  achievements,
  fc: combo,
  fs: sync,
  dx_score: dxScore,
})

/** A user without scores may have no list at all. */
const pulled = z.object({ success: z.literal(true), data: records.nullish() }).transform(({ data }) => data ?? [])
const pushed = z.object({ success: z.literal(true) })

/** LXNS (https://maimai.lxns.net), with a personal key of the user, or an access token. */
export const lxns: Platform = {
  name: 'lxns',
  title: 'LXNS',
  tokenHeader: 'X-User-Token',
  isBadToken: (status) => status === 401,
  pull: { method: 'GET', path: PATH, response: pulled },
  read(sent) {
    const { success, data } = record.safeParse(sent)
    if (!success) return null
    const { id, type, level_index: levelIndex } = data
    return {
      ...fromLxns({ id, type, levelIndex }),
      achievements: data.achievements,
      dxScore: data.dx_score,
      comboStatus: data.fc,
      syncStatus: data.fs,
    }
  },
  nameOf: (sent) => nameOf(sent, 'id'),
  nameFor,
  write({ musicId, level, achievement, comboStatus, syncStatus, deluxscoreMax }) {
    const [fc, fs] = [comboName(comboStatus), syncName(syncStatus)]
    return {
      ...nameFor({ musicId, level }),
      achievements: percentOf(achievement),
      ...(fc !== '' && { fc }),
      ...(fs !== '' && { fs }),
      dx_score: deluxscoreMax,
    }
  },
  /** A bad record makes the platform reject the batch and name the record. The rest is sent again, without it or with its raw id. */
  async push(ask, batch) {
    const skipped: Skipped[] = []
    let rest = batch
    for (let resends = 0; ; resends++) {
      const scores = rest.map(({ wire }) => wire)
      const response = await ask({ method: 'POST', path: PATH, body: { scores }, response: pushed })
      if (!isRefusal(response)) return { accepted: rest.length, skipped }
      const bad = rest.find((each) => isNamedBy(response, each))
      if (bad === undefined || resends === MAX_RESENDS) return response
      const other = underRawId(bad)
      if (other === null) skipped.push({ ...bad.name, reason: 'rejected' })
      rest = rest.flatMap((each) => (each === bad ? (other ?? []) : each))
      if (rest.length === 0) return { accepted: 0, skipped }
    }
  },
}

function nameFor(chart: Parameters<typeof toLxns>[0]): RecordName {
  const { id, type, levelIndex } = toLxns(chart)
  return { id, type, level_index: levelIndex }
}

function isNamedBy(refusal: Refusal, { wire }: Outbound): boolean {
  const { details } = refusal
  const message = details !== undefined && 'message' in details && details.status === 400 ? details.message : ''
  const { id, type, level_index } = wire as RecordName
  return message.startsWith(`invalid score (id: ${id}, type: ${type}, level_index: ${level_index})`)
}

const FIRST_DX = 10_000

/** The record with the game's own id, the only one of some DX songs there; `null` if that was tried, or there is none. */
function underRawId({ name, wire }: Outbound): Outbound | null {
  const { id, type } = wire as RecordName
  return type === 'dx' && id !== null && id < FIRST_DX ? { name, wire: { ...wire, id: id + FIRST_DX } } : null
}
