import type { Hold, Note, PlacedNote, Slide, Tap } from '../simai/notes.ts'
import { at, buttonAngle, type Point, RING } from './geometry.ts'
import { colourOf, drawHit, drawStar, outlined, pair, pointsOf } from './ink.ts'
import { approach, ORIGIN } from './moment.ts'
import { element, short } from './svg.ts'

/** Draws notes that move from the middle to a button. */

export interface At<N extends Note> {
  readonly note: N
  readonly scroll: number
}

export function drawTap({ note, scroll }: At<Tap | Slide>, now: number): string {
  if (note.type === 'slide' && !note.head) return ''
  if (now >= note.time) return drawHit(at(buttonAngle(note.position), RING), now - note.time)
  const seen = approach(note.time - now, scroll)
  if (seen === null) return ''
  const angle = buttonAngle(note.position)
  const centre = at(angle, seen.radius)
  const isStar = note.type === 'slide' ? note.look !== 'tap' : note.star !== undefined
  const colour = colourOf(note, isStar ? 'star' : 'tap')
  const size = 13 * seen.scale
  const shape = isStar
    ? drawStar(centre, size * 1.15, colour, angle + 180)
    : outlined('circle', { cx: centre.x, cy: centre.y, r: size * 0.85 }, colour, 5 * seen.scale) +
      element('circle', { class: `note ${colour}`, cx: centre.x, cy: centre.y, r: 1.5, 'stroke-width': 2 })
  return note.ex ? drawEx(centre, size, colour) + shape : shape
}

function drawEx({ x, y }: Point, size: number, colour: string): string {
  return element('circle', { class: `ex ${colour}`, cx: x, cy: y, r: size + 5 })
}

export function drawHold({ note, scroll }: At<Hold>, now: number): string {
  const end = note.time + note.duration
  const angle = buttonAngle(note.position)
  if (now >= end) return drawHit(at(angle, RING), now - end)
  const head = approach(note.time - now, scroll)
  if (head === null) return ''
  const tail = approach(end - now, scroll)?.radius ?? ORIGIN
  const colour = colourOf(note, 'tap')
  const size = 11 * head.scale
  const outline = pointsOf(hexagon(angle, tail, head.radius, size))
  const parts = [
    element('polygon', { class: `body ${colour}`, points: outline }),
    outlined('polygon', { points: outline }, colour, 4.5 * head.scale),
  ]
  if (note.ex) parts.unshift(drawEx(at(angle, head.radius), size + 3, colour))
  if (now >= note.time) {
    const { x, y } = at(angle, RING)
    parts.push(element('circle', { class: 'held', cx: x, cy: y, r: size + 6, opacity: 0.7 }))
  }
  return parts.join('')
}

/** A hexagon between the radius of its tail and that of its head. */
function hexagon(angle: number, tail: number, head: number, size: number): Point[] {
  const side = (radius: number, sideways: number) =>
    at(angle + 90 * Math.sign(sideways), Math.abs(sideways), at(angle, radius))
  const half = size * 0.87
  const flat = size / 2
  return [
    at(angle, head + size),
    side(head + flat, half),
    side(tail - flat, half),
    at(angle, tail - size),
    side(tail - flat, -half),
    side(head + flat, -half),
  ]
}

/** Arcs that connect notes with the same time. */
export function drawTies(notes: readonly PlacedNote[], now: number): string[] {
  const groups = Map.groupBy(
    notes.filter(
      ({ note }) => note.each && note.time > now && /^\d/.test(note.position) && (note.type !== 'slide' || note.head),
    ),
    ({ note }) => note.time,
  )
  return [...groups].flatMap(([time, group]) => {
    const seen = approach(time - now, group[0]?.scroll ?? 1)
    const angles = [...new Set(group.map(({ note }) => buttonAngle(note.position)))].sort((a, b) => a - b)
    return seen === null || angles.length < 2 ? [] : [drawTie(angles, seen.radius)]
  })
}

/** One arc through all the angles. It leaves the widest gap between them open. */
function drawTie(angles: readonly number[], radius: number): string {
  const gaps = angles.map((angle, index) => (angles[index + 1] ?? (angles[0] ?? 0) + 360) - angle)
  const widest = Math.max(...gaps)
  const last = gaps.indexOf(widest)
  const [from = 0, to = 0] = [angles[(last + 1) % angles.length], angles[last]]
  const large = widest < 180 ? 1 : 0
  const r = short(radius)
  return element('path', {
    class: 'tie',
    d: `M${pair(at(from, radius))}A${r} ${r} 0 ${large} 1 ${pair(at(to, radius))}`,
  })
}
