import fc from 'fast-check'
import { expect, it } from 'vitest'
import { MAX_ACHIEVEMENT, parsePercent } from '../../../music/achievement.ts'
import { fish } from '../../../score/external/fish.ts'
import { lxns } from '../../../score/external/lxns.ts'

const chart = fc.oneof(
  fc.record({ musicId: fc.integer({ min: 1, max: 9999 }), level: fc.integer({ min: 0, max: 4 }) }),
  fc.record({ musicId: fc.integer({ min: 10_001, max: 19_999 }), level: fc.integer({ min: 0, max: 4 }) }),
  fc.record({ musicId: fc.integer({ min: 100_001, max: 999_999 }), level: fc.constant(10) }),
)
const result = fc.record({
  achievement: fc.integer({ min: 0, max: MAX_ACHIEVEMENT }),
  comboStatus: fc.integer({ min: 0, max: 4 }),
  syncStatus: fc.integer({ min: 0, max: 5 }),
  deluxscoreMax: fc.integer({ min: 0, max: 5000 }),
})
const score = fc.tuple(chart, result).map(([one, more]) => ({
  ...one,
  ...more,
  playCount: 1,
  scoreRank: 0,
  extNum1: 0 as const,
}))

const onFile = {
  title: 'A song',
  levelLabel: '13',
  constant: 130,
  maxDxScore: 5000,
  maxAchievement: MAX_ACHIEVEMENT,
  isNew: false,
  utage: false,
  sharesTitle: false,
}

/** What parseBody makes of a body: the percentage as it was written. */
const overTheWire = (sent: object) =>
  JSON.parse(JSON.stringify(sent), ((key: string, value: unknown, { source }: { source?: string }) =>
    key === 'achievements' ? source : value) as never)

it.each([lxns, fish])('a score is the same after a way to $title and back', (platform) => {
  fc.assert(
    fc.property(score, (sent) => {
      // Diving-Fish adds the number of the song that it found by title and type.
      const wire = {
        ...(platform.write(sent, onFile) as object),
        ...(platform === fish && { song_id: sent.musicId }),
      }
      const back = platform.read(overTheWire(wire))
      expect(back && { ...back, achievement: parsePercent(back.achievements, MAX_ACHIEVEMENT) }).toEqual({
        musicId: sent.musicId,
        level: sent.level,
        achievements: expect.any(String),
        achievement: sent.achievement,
        dxScore: sent.deluxscoreMax,
        comboStatus: sent.comboStatus,
        syncStatus: sent.syncStatus,
      })
    }),
  )
})

it.each([lxns, fish])(
  'a score of any form at all is read or refused by $title, and named, without an error',
  (platform) => {
    const odd = fc.oneof(
      fc.anything(),
      fc.record(
        Object.fromEntries(
          ['id', 'song_id', 'type', 'level_index', 'achievements', 'fc', 'fs', 'dx_score', 'dxScore'].map((key) => [
            key,
            fc.oneof(fc.anything(), fc.integer(), fc.constantFrom('dx', 'DX', 'utage', 'standard', 'SD')),
          ]),
        ),
        { requiredKeys: [] },
      ),
    )
    fc.assert(
      fc.property(odd, (record) => {
        platform.read(record)
        const { id, type, level_index } = platform.nameOf(record)
        expect(id === null || Number.isInteger(id)).toBe(true)
        expect(type === null || /^\w{1,16}$/.test(type)).toBe(true)
        expect(level_index === null || Number.isInteger(level_index)).toBe(true)
      }),
    )
  },
)
