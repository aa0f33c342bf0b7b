import { at, type Point } from './geometry.ts'
import { element, short } from './svg.ts'

/** Shapes and colours that notes of several kinds share. */

/** How long a hit stays visible after its note's time, in seconds. */
const HIT_S = 0.15

export const STYLE = `
.back{fill:#14121f}.screen{fill:#201c33}.ring{fill:none;stroke:#8f86b8;stroke-width:1.5}.line{fill:none;stroke:#4a4368;stroke-width:1}
.sensor{fill:#4a4368;fill-opacity:.55}.name{fill:#6d659a;font:7px sans-serif;text-anchor:middle}
.button{fill:#e9e6f5}.number{fill:#3a3456;font:bold 10px sans-serif;text-anchor:middle}
.title{fill:#fff;font:bold 13px sans-serif}.more{fill:#b9b2d8;font:11px sans-serif}.end{text-anchor:end}
.note{fill:none;stroke-linejoin:round}.rim{stroke:#fff}.tap{stroke:#ff5c9e}.each{stroke:#ffd21f}.break{stroke:#ff7a00}.star{stroke:#37b6ff}
.ex{fill:none;stroke-width:3;stroke-opacity:.45}.body{fill-opacity:.35;stroke:none}.body.tap{fill:#ff5c9e}.body.each{fill:#ffd21f}.body.break{fill:#ff7a00}
.tie{fill:none;stroke:#ffd21f;stroke-width:2;stroke-opacity:.75}
.track{fill:none;stroke-width:5;stroke-linejoin:miter}.touch{fill:#37b6ff;stroke:#fff;stroke-width:1}.touch.each{fill:#ffd21f}
.hit{fill:none;stroke:#fff;stroke-width:2}.held{fill:none;stroke:#7dff8a;stroke-width:4}`

/** The class of a note's colour. */
export function colourOf(note: { break: boolean; each: boolean }, otherwise: string): string {
  return note.break ? 'break' : note.each ? 'each' : otherwise
}

export function drawStar(centre: Point, size: number, colour: string, turn: number): string {
  const corners = Array.from({ length: 10 }, (_, corner) =>
    at(turn + 36 * corner, corner % 2 === 0 ? size : size / 2, centre),
  )
  return outlined('polygon', { points: pointsOf(corners) }, colour, 3.5)
}

/** A ring that spreads where a note was just due. */
export function drawHit({ x, y }: Point, since: number): string {
  if (since > HIT_S) return ''
  const share = since / HIT_S
  return element('circle', { class: 'hit', cx: x, cy: y, r: 12 + 12 * share, opacity: 1 - share })
}

/** A coloured line with a white rim, which keeps it distinct from what lies below. */
export function outlined(name: string, shape: Record<string, string | number>, colour: string, width: number): string {
  return (
    element(name, { class: 'note rim', ...shape, 'stroke-width': width + 2.5 }) +
    element(name, { class: `note ${colour}`, ...shape, 'stroke-width': width })
  )
}

export function pair({ x, y }: Point): string {
  return `${short(x)} ${short(y)}`
}

export function pointsOf(points: readonly Point[]): string {
  return points.map(pair).join(' ')
}
