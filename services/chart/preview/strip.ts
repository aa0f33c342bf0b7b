import type { NoteCounts } from '../../music/catalogue-file.ts'
import type { Chart } from '../library.ts'
import { judgedAs, type PlacedNote } from '../simai/notes.ts'
import { document, element, text } from './svg.ts'

/** The density of notes over the whole chart: a bar for each stretch of time, one colour for each kind of note. */

const BOX = { width: 600, height: 120 }
const PLOT = { left: 8, right: 592, top: 30, bottom: 100 }
const BARS = 120

const KINDS = ['tap', 'hold', 'slide', 'touch', 'break'] as const
const STYLE = `
.back{fill:#14121f}.title{fill:#fff;font:bold 12px sans-serif}.more{fill:#b9b2d8;font:10px sans-serif}.end{text-anchor:end}.middle{text-anchor:middle}
.axis{stroke:#4a4368;stroke-width:1}.tap{fill:#ff5c9e}.hold{fill:#b56bff}.slide{fill:#37b6ff}.touch{fill:#3ddc97}.break{fill:#ff7a00}`

type Bar = Record<keyof Omit<NoteCounts, 'total'>, number>

/** @param width in pixels */
export function drawStrip(chart: Chart, width: number): string {
  const { title, levelLabel, counts, duration } = chart
  const bars = barsOf(chart)
  const highest = Math.max(1, ...bars.map(sumOf))
  const perSecond = duration === 0 ? counts.total : (highest * BARS) / duration
  const content = [
    element('rect', { class: 'back', width: BOX.width, height: BOX.height }),
    element('text', { class: 'title', x: PLOT.left, y: 18 }, text(title, 40)),
    element(
      'text',
      { class: 'more end', x: PLOT.right, y: 18 },
      text(`${levelLabel} · ${counts.total} notes · up to ${perSecond.toFixed(1)} a second`, 80),
    ),
    ...bars.map((bar, index) => drawBar(bar, index, highest)),
    drawAxis(duration),
  ]
  return document(width, BOX, `Note density of ${title}, ${levelLabel}`, STYLE, content.join(''))
}

function barsOf({ notes, duration }: Chart): Bar[] {
  const bars = Array.from({ length: BARS }, (): Bar => ({ tap: 0, hold: 0, slide: 0, touch: 0, break: 0 }))
  for (const placed of notes) {
    const bar = bars[barAt(placed, duration)]
    if (bar !== undefined) for (const kind of judgedAs(placed.note)) bar[kind]++
  }
  return bars
}

function barAt({ note }: PlacedNote, duration: number): number {
  return duration === 0 ? 0 : Math.min(BARS - 1, Math.floor((note.time * BARS) / duration))
}

function sumOf(bar: Bar): number {
  return KINDS.reduce((sum, kind) => sum + bar[kind], 0)
}

function drawBar(bar: Bar, index: number, highest: number): string {
  const step = (PLOT.right - PLOT.left) / BARS
  const scale = (PLOT.bottom - PLOT.top) / highest
  let y = PLOT.bottom
  return KINDS.map((kind) => {
    if (bar[kind] === 0) return ''
    const height = bar[kind] * scale
    y -= height
    return element('rect', { class: kind, x: PLOT.left + index * step, y, width: step - 0.8, height })
  }).join('')
}

/** Marks at round times, ten of them at most. */
function drawAxis(duration: number): string {
  const gap = [5, 10, 15, 30, 60, 120, 300, 600, 900].find((seconds) => duration / seconds < 10) ?? 1800
  const marks = Array.from({ length: Math.floor(duration / gap) + 1 }, (_, index) => index * gap)
  const line = element('path', { class: 'axis', d: `M${PLOT.left} ${PLOT.bottom}H${PLOT.right}` })
  return line + marks.map((seconds) => drawMark(seconds, duration)).join('')
}

function drawMark(seconds: number, duration: number): string {
  const share = duration === 0 ? 0 : seconds / duration
  const x = PLOT.left + share * (PLOT.right - PLOT.left)
  const label = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  const anchor = share < 0.02 ? 'more' : share > 0.97 ? 'more end' : 'more middle'
  return (
    element('path', { class: 'axis', d: `M${Math.round(x)} ${PLOT.bottom}v4` }) +
    element('text', { class: anchor, x, y: 114 }, label)
  )
}
