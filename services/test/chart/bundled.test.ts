import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { type Chart, loadLibrary } from '../../chart/library.ts'
import { drawFrame } from '../../chart/preview/frame.ts'
import { drawStrip } from '../../chart/preview/strip.ts'
import { BUNDLED_CHARTS } from '../../chart/service.ts'
import { BUNDLED_CATALOGUE } from '../../music/catalogue.ts'
import { startScore } from '../score/harness.ts'

/** The charts that ship with the product, and the catalogue by which scores are judged. */

interface Song {
  readonly musicId: number
  readonly title: string
  readonly artist: string
  readonly bpm: number
  readonly charts: readonly { level: number; levelLabel: string; designer: string; notes: object; maxDxScore: number }[]
}

const { songs } = JSON.parse(readFileSync(BUNDLED_CATALOGUE, 'utf8')) as { songs: Song[] }
const library = await loadLibrary(BUNDLED_CHARTS)

it('the bundled charts are sound', () => {
  expect([library.errors, library.warnings]).toEqual([[], []])
})

it('the bundled charts are those of the catalogue and no others, and say the same of themselves', () => {
  const told = library.charts.map((chart) => {
    const { musicId, level, title, artist, bpm, designer, counts, maxDxScore } = chart
    return { musicId, level, title, artist, bpm, designer, notes: counts, maxDxScore, label: labelOf(chart) }
  })
  const expected = songs.flatMap(({ musicId, title, artist, bpm, charts }) =>
    charts.map(({ level, designer, notes, maxDxScore, levelLabel }) => {
      return { musicId, level, title, artist, bpm, designer, notes, maxDxScore, label: levelLabel }
    }),
  )
  const inOrder = <T extends { musicId: number; level: number | null }>(rows: T[]) =>
    rows.sort((a, b) => a.musicId - b.musicId || (a.level ?? 0) - (b.level ?? 0))
  expect(inOrder(told)).toEqual(inOrder(expected))
  expect(library.charts).toHaveLength(61)
})

it('the bundled charts ask no hand to be on two buttons that are one', () => {
  for (const chart of library.charts) expect(clashes(chart), chart.chartKey).toEqual([])
})

it('the bundled charts can be drawn from beginning to end', () => {
  for (const chart of library.charts) {
    expect(drawStrip(chart, 480)).toContain('<rect')
    for (let t = 0; t < chart.duration; t += 7.3) expect(drawFrame(chart, t, 480)).not.toMatch(/NaN|undefined|Infinity/)
  }
})

/** What is behind `MASTER `. */
function labelOf({ levelLabel }: Chart): string {
  return levelLabel.slice(levelLabel.lastIndexOf(' ') + 1)
}

/** Notes of one moment at one place. */
function clashes({ notes }: Chart): string[] {
  const seen = new Set<string>()
  return notes.flatMap(({ note: { time, position } }) => {
    const place = `${time} ${position}`
    if (seen.has(place)) return [place]
    seen.add(place)
    return []
  })
}

it('the count of notes of a chart is what the score service judges by: three for each note are taken, and one more is refused', async () => {
  const { post } = await startScore()
  const upsert = ({ musicId, level }: Chart, dxScore: number) =>
    post('/v1/music/upsert', { musicId, level, achievement: 100, dxScore })
  for (const chart of library.charts) {
    const max = 3 * chart.counts.total
    const name = `${chart.chartKey} ${max}`
    expect(await upsert(chart, max), name).toMatchObject({ status: 200, json: { returnCode: 1 } })
    expect(await upsert(chart, max + 1), name).toMatchObject({ status: 422, json: { returnCode: 5009 } })
  }
})
