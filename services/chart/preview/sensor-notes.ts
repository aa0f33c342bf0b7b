import { endOf, type Touch, type TouchHold } from '../simai/notes.ts'
import { at, type Point, sensorPoint } from './geometry.ts'
import { drawHit, pair, pointsOf } from './ink.ts'
import { element, short } from './svg.ts'

/** Draws notes that close in on a sensor. */

/** How long a firework burns, in seconds. */
export const FIREWORK_S = 0.5
/** How many seconds before its time a note becomes visible. The scroll speed does not change it. */
export const TOUCH_LEAD_S = 0.75
/** The colours of the four petals of a touch hold. */
const PETALS = ['#ff4d5e', '#ffc928', '#4fd06b', '#3aa6ff']

export function drawTouch(note: Touch | TouchHold, now: number): string {
  const left = note.time - now
  const centre = sensorPoint(note.position)
  const end = endOf(note)
  if (now >= end) return drawHit(centre, now - end) + (note.firework ? drawFirework(centre, now - end) : '')
  if (left >= TOUCH_LEAD_S) return ''
  const opacity = Math.min(1, (TOUCH_LEAD_S - left) / 0.25)
  const gap = 12 * Math.max(0, left / TOUCH_LEAD_S)
  const petals = [0, 90, 180, 270].map((turn, index) => drawPetal(centre, turn, gap, note, PETALS[index] ?? ''))
  const dot = element('circle', { cx: centre.x, cy: centre.y, r: 2.5, fill: '#fff' })
  const held = note.type === 'touchHold' && left < 0 ? drawHeld(centre, -left / note.duration) : ''
  return element('g', { opacity }, petals.join('') + dot + held)
}

/** The petals close as the note comes due. Those of a touch point inwards, those of a touch hold make a diamond. */
function drawPetal(centre: Point, turn: number, gap: number, note: Touch | TouchHold, colour: string): string {
  if (note.type === 'touchHold') {
    const middle = at(turn + 45, gap, centre)
    const corners = [at(turn, 15, middle), at(turn + 90, 15, middle), middle]
    return element('polygon', { points: pointsOf(corners), fill: colour, stroke: '#fff', 'stroke-width': 1 })
  }
  const tip = at(turn, gap + 2, centre)
  const base = at(turn, gap + 13, centre)
  const corners = [tip, at(turn + 90, 10, base), at(turn - 90, 10, base)]
  return element('polygon', { class: note.each ? 'touch each' : 'touch', points: pointsOf(corners) })
}

/** A ring that closes while the sensor is held. */
function drawHeld({ x, y }: Point, share: number): string {
  const r = 20
  const around = 2 * Math.PI * r
  const dashes = `${short(around * Math.min(1, share))} ${short(around)}`
  const turn = `rotate(-90 ${short(x)} ${short(y)})`
  return element('circle', { class: 'held', cx: x, cy: y, r, 'stroke-dasharray': dashes, transform: turn })
}

function drawFirework(centre: Point, since: number): string {
  if (since > FIREWORK_S) return ''
  const share = since / FIREWORK_S
  const rays = Array.from({ length: 12 }, (_, ray) => {
    const [from, to] = [at(30 * ray, 18 + 40 * share, centre), at(30 * ray, 32 + 60 * share, centre)]
    return element('path', { d: `M${pair(from)}L${pair(to)}`, stroke: `hsl(${30 * ray} 90% 65%)`, 'stroke-width': 4 })
  })
  return element('g', { opacity: 1 - share }, rays.join(''))
}
