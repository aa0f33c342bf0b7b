import type { Chart } from '../library.ts'
import { endOf, type PlacedNote } from '../simai/notes.ts'
import { drawHold, drawTap, drawTies } from './button-notes.ts'
import { STYLE } from './ink.ts'
import { buttonLeadOf, TRACK_LEAD_S } from './moment.ts'
import { drawScreen } from './screen.ts'
import { drawTouch, FIREWORK_S, TOUCH_LEAD_S } from './sensor-notes.ts'
import { document, element, text } from './svg.ts'
import { drawTracks } from './tracks.ts'

/** The screen as a player sees it at one moment. */

const BOX = { width: 400, height: 432 }
/** The most notes that are drawn at once: nobody could read more. */
const MAX_NOTES = 200

/** @param now seconds from the chart's start @param width in pixels */
export function drawFrame(chart: Chart, now: number, width: number): string {
  const visible = chart.notes.filter((placed) => isVisible(placed, now)).slice(0, MAX_NOTES)
  // A note that is due first lies on top.
  const notes = visible.toReversed()
  const content = [
    drawScreen(BOX),
    ...drawTracks(notes, now),
    ...drawTies(visible, now),
    ...notes.map((placed) => drawNote(placed, now)),
    drawCaption(chart, now),
  ]
  const label = `${chart.title}, ${chart.levelLabel}, at ${clock(now)}`
  return document(width, BOX, label, STYLE, content.join(''))
}

function isVisible(placed: PlacedNote, now: number): boolean {
  const { note } = placed
  return note.time - now < leadOf(placed) && now < endOf(note) + FIREWORK_S
}

/** How many seconds before its time a note becomes visible. */
function leadOf({ note, scroll }: PlacedNote): number {
  if (note.type === 'touch' || note.type === 'touchHold') return TOUCH_LEAD_S
  return Math.max(buttonLeadOf(scroll), note.type === 'slide' ? TRACK_LEAD_S : 0)
}

function drawNote(placed: PlacedNote, now: number): string {
  const { note } = placed
  switch (note.type) {
    case 'tap':
    case 'slide':
      return drawTap({ note, scroll: placed.scroll }, now)
    case 'hold':
      return drawHold({ note, scroll: placed.scroll }, now)
    default:
      return drawTouch(note, now)
  }
}

function drawCaption({ title, artist, levelLabel, duration }: Chart, now: number): string {
  return [
    element('text', { class: 'title', x: 10, y: 412 }, text(title, 34)),
    element('text', { class: 'more', x: 10, y: 426 }, text(artist, 44)),
    element('text', { class: 'more end', x: 390, y: 412 }, text(levelLabel, 24)),
    element('text', { class: 'more end', x: 390, y: 426 }, `${clock(now)} / ${clock(duration)}`),
  ].join('')
}

/** A time as minutes and seconds, such as `1:02.50`. */
function clock(seconds: number): string {
  const hundredths = Math.floor(seconds * 100 + 1e-6)
  const rest = (hundredths % 6000) / 100
  return `${Math.floor(hundredths / 6000)}:${rest.toFixed(2).padStart(5, '0')}`
}
