import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadCatalogue } from '../../../music/catalogue.ts'
import type { SongInput } from '../../../music/catalogue-file.ts'
import { importCatalogue } from '../../../music/import/catalogue.ts'
import { fileOf } from '../../score/harness.ts'

const BEFORE = { allPerfect: 0, newVersions: [] }

async function imported(list: unknown, options: Parameters<typeof importCatalogue>[1] = BEFORE) {
  const { text } = await importCatalogue(fileOf(list), options)
  const { songs, rating }: { songs: SongInput[]; rating: object } = JSON.parse(text)
  return { catalogue: await loadCatalogue(fileOf(text)), songs, rating }
}

/** A song as `music_data` has it: the chart of the documented examples, with five notes of each difficulty. */
function fish(id: number | string, more: object = {}) {
  return {
    id,
    title: '群青シグナル',
    type: Number(id) < 10_000 ? 'SD' : 'DX',
    ds: [5, 8.2, 11.7, 13.9],
    level: ['5', '8', '11+', '13+'],
    cids: [1, 2, 3, 4],
    charts: [5, 6, 7, 8].map((tap) => ({ notes: [tap, 4, 3, ...(Number(id) < 10_000 ? [] : [2]), 1], charter: '-' })),
    basic_info: {
      title: '群青シグナル',
      artist: 'A',
      genre: 'maimai',
      bpm: 212,
      release_date: '',
      from: 'maimai でらっくす UNiVERSE',
      is_new: false,
    },
    ...more,
  }
}

const notes = { total: 15, tap: 5, hold: 4, slide: 3, touch: 2, break: 1 }

/** A chart as `song/list?notes=true` has it. */
function chart(difficulty: number, more: object = {}) {
  return {
    type: 'dx',
    difficulty,
    level: '13+',
    level_value: 13.9,
    note_designer: 'Somebody',
    version: 21000,
    notes,
    ...more,
  }
}

function lxns(id: number, difficulties: object, more: object = {}) {
  return { id, title: '群青シグナル', artist: 'A', genre: 'maimai', bpm: 212, version: 10000, difficulties, ...more }
}

const VERSIONS = [
  { id: 0, title: 'maimai', version: 10000 },
  { id: 12, title: 'UNiVERSE', version: 21000 },
  { id: 17, title: 'BUDDiES', version: 24000 },
  { id: 18, title: 'PRiSM', version: 25000 },
]

describe('music_data of Diving-Fish', () => {
  it('music_data becomes songs with their constants, labels and notes', async () => {
    const { catalogue, songs, rating } = await imported([fish('11466')])
    expect(rating).toEqual({ allPerfect: 0 })
    expect(songs[0]).toMatchObject({
      musicId: 11466,
      type: 'dx',
      version: 'maimai でらっくす UNiVERSE',
      isNew: false,
      charts: [
        {},
        {},
        {},
        { level: 3, levelLabel: '13+', ds: 13.9, designer: '-', notes: { ...notes, tap: 8, total: 18 } },
      ],
    })
    expect(catalogue.chart(11466, 3)).toMatchObject({ constant: 139, maxDxScore: 54, isNew: false })
  })

  it('music_data has no touch notes among the four numbers of a standard chart', async () => {
    const { songs } = await imported([fish(837)])
    expect(songs[0]?.charts[0]?.notes).toEqual({ tap: 5, hold: 4, slide: 3, touch: 0, break: 1, total: 13 })
  })

  it('music_data may have a DX song under the id of the standard one', async () => {
    const dx = fish(10837, { id: 837 })
    const { songs } = await imported([fish('837'), dx])
    expect(songs.map(({ musicId, type }) => [musicId, type])).toEqual([
      [837, 'standard'],
      [10837, 'dx'],
    ])
  })

  it('music_data has utage as DX, with level 10, and a buddy utage as two charts that are one', async () => {
    const utage = { ds: [13], level: ['13?'], charts: [{ notes: [5, 4, 3, 2, 1], charter: 'A' }] }
    const buddy = {
      ds: [13, 13.2],
      level: ['13?', '13?'],
      charts: [...utage.charts, { notes: [10, 0, 0, 0, 5], charter: 'B' }],
    }
    const { catalogue, songs } = await imported([fish('100101', utage), fish('110205', buddy)])
    expect(songs.map(({ charts }) => charts)).toEqual([
      [{ level: 10, levelLabel: '13?', ds: 13, designer: 'A', notes, maxDxScore: 45 }],
      [
        {
          level: 10,
          levelLabel: '13?',
          ds: 13,
          designer: 'A / B',
          notes: { tap: 15, hold: 4, slide: 3, touch: 2, break: 6, total: 30 },
          maxDxScore: 90,
          buddy: true,
        },
      ],
    ])
    expect([100101, 110205].map((id) => catalogue.chart(id, 10)?.maxAchievement)).toEqual([1_010_000, 2_020_000])
  })

  it.each([
    ['a number that is none', fish('11466a'), '[1].id: expected the number of a song'],
    ['an id that no song has', fish(20_000), '[1].musicId: names no song'],
    ['no title', fish(11467, { title: undefined }), '[1].title: '],
    [
      'an id of a DX song with the type of the other',
      fish(11467, { type: 'SD' }),
      '[1].type: the id is that of a DX song',
    ],
    ['a constant too few', fish(11467, { ds: [5, 8.2, 11.7] }), '[1].ds: has 3 values for 4 charts'],
    ['a label too many', fish(11467, { level: ['1', '2', '3', '4', '5'] }), '[1].level: has 5 values for 4 charts'],
    [
      'four numbers of notes of a DX chart',
      fish(11467, { ds: [1], level: ['1'], charts: [{ notes: [5, 4, 3, 1], charter: '' }] }),
      '[1].charts[0].notes: expected 5 numbers of this song',
    ],
    [
      'a chart of which nobody knows the notes',
      fish(11467, { ds: [1], level: ['1'], charts: [{ notes: [0, 0, 0, 0, 0], charter: '' }] }),
      '[1].charts[0].notes.total: ',
    ],
    [
      'three charts of an utage',
      fish(100101, { ds: [1, 1, 1], level: ['1', '1', '1'], charts: fish(11466).charts.slice(1) }),
      '[1].charts: expected at most 2 charts of this song',
    ],
    ['a song that is there already', fish(11466), '[1]: is musicId 11466, as [0] is'],
  ])('music_data is refused with %s, at its place', async (_what, song, problem) => {
    const file = fileOf([fish(11466), song])
    await expect(importCatalogue(file, BEFORE)).rejects.toThrow(`${file}: ${problem}`)
  })
})

describe('song/list of LXNS', () => {
  it('song/list becomes a song for each kind of an entry, of which the DX one has 10000 more', async () => {
    const entry = lxns(837, { standard: [chart(0, { version: 10000 })], dx: [chart(0), chart(4, { version: 25001 })] })
    const { songs, rating } = await imported({ songs: [entry], genres: [], versions: VERSIONS })
    expect(songs.map(({ musicId, type, version }) => [musicId, type, version])).toEqual([
      [837, 'standard', 'maimai'],
      [10837, 'dx', 'UNiVERSE'],
    ])
    expect(rating).toEqual({ allPerfect: 0, newVersions: ['UNiVERSE'] })
    expect(songs[1]?.charts[1]).toEqual({
      level: 4,
      levelLabel: '13+',
      ds: 13.9,
      designer: 'Somebody',
      notes,
      maxDxScore: 45,
    })
  })

  it('song/list may have a DX song under its whole id, and has utage under its own', async () => {
    const buddy = { left: notes, right: { ...notes, tap: 10, total: 20 } }
    const { catalogue } = await imported({
      songs: [
        lxns(11484, { standard: [], dx: [chart(3)] }),
        lxns(100101, { utage: [chart(0, { kanji: '宴', is_buddy: false })] }),
        lxns(110205, { utage: [chart(0, { is_buddy: true, notes: buddy })] }),
      ],
      versions: VERSIONS,
    })
    expect(catalogue.chart(11484, 3)).toBeDefined()
    expect(catalogue.chart(100101, 10)).toMatchObject({ maxDxScore: 45, maxAchievement: 1_010_000 })
    expect(catalogue.chart(110205, 10)).toMatchObject({ maxDxScore: 105, maxAchievement: 2_020_000 })
  })

  it('song/list says which version is the newest, and the command which ones are new instead', async () => {
    const songs = [21000, 24005, 25000].map((version, i) => lxns(1 + i, { standard: [chart(0, { version })] }))
    const list = { songs, versions: [...VERSIONS, { id: 19, title: 'CiRCLE', version: 26000 }] }
    expect((await imported(list)).rating).toEqual({ allPerfect: 0, newVersions: ['PRiSM'] })
    const { catalogue, rating } = await imported(list, { allPerfect: 1, newVersions: ['BUDDiES', 'PRiSM'] })
    expect(rating).toEqual({ allPerfect: 1, newVersions: ['BUDDiES', 'PRiSM'] })
    expect([1, 2, 3].map((id) => catalogue.chart(id, 0)?.isNew)).toEqual([false, true, true])
    await expect(imported(list, { allPerfect: 1, newVersions: ['Buddies'] })).rejects.toThrow(
      'no song is of the version "Buddies", but of UNiVERSE, BUDDiES, PRiSM',
    )
  })

  it.each([
    [
      'without notes',
      lxns(1466, { dx: [chart(3, { notes: undefined })] }),
      'difficulties.dx[0].notes: expected the notes',
    ],
    ['with an utage under another id', lxns(1466, { utage: [chart(0)] }), 'difficulties.utage: type does not go'],
    [
      'with a level that is there twice',
      lxns(1466, { dx: [chart(3), chart(3)] }),
      'difficulties.dx: a level is there twice',
    ],
    ['with a level that the game has not', lxns(1466, { dx: [chart(5)] }), 'difficulties.dx.charts[0].level: '],
    ['without a speed', lxns(1466, { dx: [chart(3)] }, { bpm: null }), 'bpm: '],
  ])('song/list is refused %s, at its place', async (_what, entry, problem) => {
    const file = fileOf({ songs: [lxns(1, { standard: [chart(0)] }), entry], versions: VERSIONS })
    await expect(importCatalogue(file, BEFORE)).rejects.toThrow(`${file}: songs[1].${problem}`)
  })
})

describe('any list', () => {
  const count = fc.integer({ min: 0, max: 2000 })
  const constant = fc.integer({ min: 10, max: 150 }).map((tenths) => tenths / 10)
  const text = fc.string({ minLength: 1, unit: 'grapheme' })
  const number = { standard: [1, 9999], dx: [10_001, 19_999], utage: [100_001, 999_999] } as const
  const fishSong = fc.constantFrom('standard' as const, 'dx' as const, 'utage' as const).chain((kind) => {
    const [min, max] = number[kind]
    const length = kind === 'standard' ? 3 : 4
    const taps = fc.tuple(fc.integer({ min: 1, max: 2000 }), fc.array(count, { minLength: length, maxLength: length }))
    const one = fc.record({ notes: taps.map(([tap, others]) => [tap, ...others]), charter: text })
    const charts = fc.array(fc.tuple(one, constant, text), { minLength: 1, maxLength: kind === 'utage' ? 2 : 5 })
    return fc.record({ id: fc.integer({ min, max }), title: text, charts, isNew: fc.boolean() }).map((song) =>
      fish(song.id, {
        title: song.title,
        charts: song.charts.map(([each]) => each),
        ds: song.charts.map(([, ds]) => ds),
        level: song.charts.map(([, , level]) => level),
        basic_info: { ...fish(1).basic_info, is_new: song.isNew },
      }),
    )
  })

  it('a list of songs is written as what the services read, with nothing lost', async () => {
    const lists = fc.uniqueArray(fishSong, { selector: ({ id }) => Number(id), minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(lists, async (list) => {
        const { catalogue, songs } = await imported(list)
        expect(songs).toHaveLength(list.length)
        for (const { id, ds, charts, basic_info: info } of list) {
          const isUtage = Number(id) > 100_000
          const total = charts.map((each) => each.notes.reduce((sum, n) => sum + n, 0))
          const maxima = isUtage ? [total.reduce((sum, n) => sum + n, 0)] : total
          maxima.forEach((most, index) => {
            expect(catalogue.chart(Number(id), isUtage ? 10 : index)).toMatchObject({
              maxDxScore: 3 * most,
              constant: Math.round((ds[index] ?? 0) * 10),
              isNew: info.is_new,
            })
          })
        }
      }),
      { numRuns: 60 },
    )
  })

  it.each([
    ['no JSON', '{', 'cannot be read as JSON'],
    ['an empty array', [], 'expected an array of songs'],
    ['another object', { data: [] }, 'expected an array of songs'],
    ['a catalogue of the services', { rating: { allPerfect: 0 }, songs: [{ musicId: 1 }] }, 'songs[0].id: '],
  ])('a list of songs is refused where it is %s', async (_what, content, problem) => {
    const file = fileOf(content)
    await expect(importCatalogue(file, BEFORE)).rejects.toThrow(`${file}: ${problem}`)
  })

  it('a list of songs that is refused has a line for each value that cannot be read', async () => {
    const file = fileOf([fish(1, { title: 1 }), fish(2), fish(3, { ds: [] })])
    const error = await importCatalogue(file, BEFORE).catch((reason: Error) => reason.message)
    expect(String(error).split('\n')).toEqual([
      expect.stringMatching(/: \[0\]\.title: /),
      expect.stringMatching(/: \[2\]\.ds: has 0 values for 4 charts$/),
    ])
  })
})
