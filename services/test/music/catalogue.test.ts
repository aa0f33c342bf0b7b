import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { BUNDLED_CATALOGUE, loadCatalogue } from '../../music/catalogue.ts'
import { catalogueFile, type Song } from '../../music/catalogue-file.ts'
import { fileOf, song } from '../score/harness.ts'

const text = readFileSync(BUNDLED_CATALOGUE, 'utf8')
const { rating, songs } = catalogueFile.parse(JSON.parse(text))

it('the bundled catalogue has every kind of song that the rules keep apart', () => {
  const ids = songs.map((song) => song.musicId)
  expect(songs.length).toBeGreaterThanOrEqual(12)
  expect(ids.some((id) => ids.includes(id + 10_000))).toBe(true)
  expect(songs.some((song) => song.charts.some((chart) => chart.level === 4))).toBe(true)
  expect(songs.some((song) => song.type === 'utage' && song.charts.every((chart) => !chart.buddy))).toBe(true)
  expect(songs.some((song) => song.charts.some((chart) => chart.buddy))).toBe(true)
  expect(new Set(songs.map((song) => song.title)).size).toBeLessThan(songs.length)
  expect(songs.filter((song) => song.title === 'Link').map((song) => song.type)).toEqual(['standard', 'standard'])
  expect(songs.some((song) => song.isNew) && songs.some((song) => !song.isNew)).toBe(true)
})

it('the bundled catalogue has the sample chart with its documented maxima', async () => {
  const catalogue = await loadCatalogue(BUNDLED_CATALOGUE)
  expect([0, 1, 2, 3].map((level) => catalogue.chart(11466, level)?.maxDxScore)).toEqual([708, 1329, 1956, 2934])
  expect([0, 1, 2, 3].map((level) => catalogue.chart(11466, level)?.constant)).toEqual([50, 82, 117, 139])
  expect(catalogue.chart(837, 1)?.maxDxScore).toBeGreaterThanOrEqual(744)
})

it('the bundled catalogue says of which songs Diving-Fish cannot know one from the other', async () => {
  const catalogue = await loadCatalogue(BUNDLED_CATALOGUE)
  const shared = songs.filter(({ musicId, charts }) => catalogue.chart(musicId, charts[0]?.level ?? 0)?.sharesTitle)
  expect(shared.map(({ musicId }) => musicId)).toEqual([417, 418])
})

it('the bundled catalogue gives standard charts no touch notes', () => {
  const standard = songs.filter((song) => song.type === 'standard').flatMap((song) => song.charts)
  expect(standard.every((chart) => chart.notes.touch === 0)).toBe(true)
})

describe('loadCatalogue', () => {
  const ofAllCharts = (change: (chart: Song['charts'][number]) => object) => (song: Song) => ({
    ...song,
    charts: song.charts.map((chart) => ({ ...chart, ...change(chart) })),
  })

  it.each([
    ['a wrong total', ofAllCharts(({ notes }) => ({ notes: { ...notes, total: 1 } }))],
    ['a total that is not the sum', ofAllCharts(({ notes }) => ({ notes: { ...notes, tap: notes.tap + 1 } }))],
    ['a wrong maximum', ofAllCharts(() => ({ maxDxScore: 3 }))],
    ['a type that does not go with its id', (song: Song) => ({ ...song, type: 'dx' })],
    ['an utage chart although it is none', ofAllCharts(() => ({ level: 10 }))],
    ['a chart for two although it is no utage', ofAllCharts(() => ({ buddy: true }))],
    ['an unknown field', (song: Song) => ({ ...song, extra: 1 })],
    ['a constant with two decimals', ofAllCharts(() => ({ ds: 3.05 }))],
  ])('loadCatalogue refuses a song with %s and names the file', async (_what, change) => {
    const file = fileOf({ rating, songs: [change(songs[0] as Song)] })
    await expect(loadCatalogue(file)).rejects.toThrow(file)
  })

  const load = (rating: object, songs: readonly object[]) => loadCatalogue(fileOf({ rating, songs }))

  it('loadCatalogue refuses a musicId that stands twice', async () => {
    await expect(load(rating, [...songs.slice(0, 1), ...songs.slice(0, 1)])).rejects.toThrow('twice')
  })

  const ofVersions = ['PRiSM PLUS', 'CiRCLE', 'CiRCLE PLUS'].map((version, i) =>
    song(101 + i, { version, isNew: i === 0 }),
  )

  it('takes the songs of the versions that the rating names as new, whatever a song says of itself', async () => {
    const newVersions = ['CiRCLE', 'CiRCLE PLUS']
    const since = await load({ allPerfect: 1, newVersions }, ofVersions)
    expect([101, 102, 103].map((id) => since.chart(id, 3)?.isNew)).toEqual([false, true, true])
    expect(since.rating.allPerfect).toBe(1)
    const bySong = await load({ allPerfect: 0 }, ofVersions)
    expect([101, 102, 103].map((id) => bySong.chart(id, 3)?.isNew)).toEqual([true, false, false])
  })

  it.each([
    ['no rating', undefined, 'rating'],
    ['an AP worth two', { allPerfect: 2 }, 'allPerfect'],
    ['a version that no song has', { allPerfect: 1, newVersions: ['CiRCLE', 'CIRCLE PLUS'] }, 'newVersions'],
    ['no rule for a song that does not say whether it is new', { allPerfect: 1 }, 'isNew'],
  ])('refuses %s', async (_what, rating, name) => {
    const songs = [...ofVersions, song(104, { version: 'CiRCLE', isNew: undefined })]
    await expect(load(rating as object, songs)).rejects.toThrow(name)
  })
})
