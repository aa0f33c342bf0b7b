import type { Path, Segment } from '../simai/notes.ts'
import { isClockwise } from '../simai/shapes.ts'

/** Places on the screen. Angles are degrees clockwise from the top. The ring of judgement has the radius RING. */

export interface Point {
  readonly x: number
  readonly y: number
}

/** A line of straight pieces, given by the points that they connect. */
export type Line = readonly Point[]

export const CENTRE: Point = { x: 200, y: 200 }
export const RING = 150

export function buttonAngle(button: string): number {
  return 45 * Number(button) - 22.5
}

export function at(angle: number, radius: number, from: Point = CENTRE): Point {
  const radians = (angle * Math.PI) / 180
  return { x: from.x + radius * Math.sin(radians), y: from.y - radius * Math.cos(radians) }
}

/** Sensors D and E lie between the buttons. Radii are shares of the ring's radius. */
const SENSORS: Readonly<Record<string, { radius: number; turn: number }>> = {
  A: { radius: 0.85, turn: 0 },
  B: { radius: 0.48, turn: 0 },
  C: { radius: 0, turn: 0 },
  D: { radius: 0.85, turn: -22.5 },
  E: { radius: 0.62, turn: -22.5 },
}

/** @param sensor `A1` to `E8`, or `C` */
export function sensorPoint(sensor: string): Point {
  const { radius, turn } = SENSORS[sensor.charAt(0)] ?? { radius: 0, turn: 0 }
  return at(buttonAngle(sensor.slice(1)) + turn || 0, radius * RING)
}

/** The lines that the stars of a path follow: one line, or three of a fan. */
export function linesOf(start: string, path: Path): Line[] {
  const segments = path.segments ?? [segmentOf(path)]
  if (segments.length === 1 && path.shape === 'w') {
    return [-1, 0, 1].map((turn) => [buttonPoint(start), at(buttonAngle(path.end) + 45 * turn, RING)])
  }
  return [joined(start, segments).flat()]
}

/** One line for each slide of a chain. */
export function joined(start: string, segments: readonly Segment[]): Line[] {
  return segments.map((segment, index) => segmentLine(segments[index - 1]?.end ?? start, segment))
}

export function segmentOf({ shape, via, end }: Path): Segment {
  return { shape: shape as Segment['shape'], ...(via !== undefined && { via }), end }
}

function buttonPoint(button: string): Point {
  return at(buttonAngle(button), RING)
}

/** The radius of the circle that is touched by the straight line from button 1 to button 4. */
const INNER = RING * Math.cos((67.5 * Math.PI) / 180)
/** How far from the centre the slides `s` and `z` turn. */
const ZIGZAG = 0.42 * RING

function segmentLine(start: string, { shape, via, end }: Segment): Line {
  const [from, to] = [buttonPoint(start), buttonPoint(end)]
  const angle = buttonAngle(start)
  switch (shape) {
    case '^':
    case '<':
    case '>':
      return arcOnRing(angle, buttonAngle(end), isClockwise(shape, start, end))
    case 'v':
      return [from, CENTRE, to]
    case 'V':
      return [from, buttonPoint(via ?? end), to]
    case 's':
      return [from, at(angle - 90, ZIGZAG), at(angle + 90, ZIGZAG), to]
    case 'z':
      return [from, at(angle + 90, ZIGZAG), at(angle - 90, ZIGZAG), to]
    case 'p':
    case 'q':
      return around({ from, to, centre: CENTRE, radius: INNER, clockwise: shape === 'q' })
    case 'pp':
      return around({ from, to, centre: at(angle + 90, RING / 2), radius: RING / 2, clockwise: false })
    case 'qq':
      return around({ from, to, centre: at(angle - 90, RING / 2), radius: RING / 2, clockwise: true })
    default:
      return [from, to]
  }
}

function arcOnRing(from: number, to: number, clockwise: boolean): Line {
  const turn = positive(clockwise ? to - from : from - to) || 360
  return arc(CENTRE, RING, from, clockwise ? turn : -turn)
}

interface Detour {
  readonly from: Point
  readonly to: Point
  readonly centre: Point
  readonly radius: number
  readonly clockwise: boolean
}

/** A line straight to a circle, some way round it, and straight to the end. The straight pieces touch the circle. */
function around({ from, to, centre, radius, clockwise }: Detour): Line {
  const hand = clockwise ? 1 : -1
  const enter = angleTo(centre, from) + hand * tangentAngle(centre, from, radius)
  const leave = angleTo(centre, to) - hand * tangentAngle(centre, to, radius)
  const turn = positive(hand * (leave - enter))
  return [from, ...arc(centre, radius, enter, hand * turn), to]
}

/** The angle, seen from the centre, between a point and the place where its tangent touches the circle. */
function tangentAngle(centre: Point, point: Point, radius: number): number {
  const share = radius / Math.hypot(point.x - centre.x, point.y - centre.y)
  return share >= 1 ? 0 : (Math.acos(share) * 180) / Math.PI
}

function angleTo(from: Point, to: Point): number {
  return (Math.atan2(to.x - from.x, from.y - to.y) * 180) / Math.PI
}

/** The angle from 0 to below 360. A whole turn, but for rounding, becomes 0. */
function positive(angle: number): number {
  const turn = ((angle % 360) + 360) % 360
  return turn > 359.999 || turn < 0.001 ? 0 : turn
}

const ARC_STEP = 5

function arc(centre: Point, radius: number, from: number, turn: number): Line {
  const steps = Math.max(1, Math.ceil(Math.abs(turn) / ARC_STEP))
  return Array.from({ length: steps + 1 }, (_, step) => at(from + (turn * step) / steps, radius, centre))
}

export function lengthOf(line: Line): number {
  return line.slice(1).reduce((sum, point, index) => sum + distance(line[index] ?? point, point), 0)
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y)
}

export interface Place extends Point {
  /** The direction of travel. */
  readonly angle: number
}

/** Places on a line, at ascending distances from its start. */
export function placesOn(line: Line, distances: readonly number[]): Place[] {
  const places: Place[] = []
  let passed = 0
  let piece = 0
  for (const wanted of distances) {
    let length = pieceLength(line, piece)
    while (passed + length < wanted && piece < line.length - 2) {
      passed += length
      piece++
      length = pieceLength(line, piece)
    }
    const [a, b] = [line[piece] ?? CENTRE, line[piece + 1] ?? CENTRE]
    const share = length === 0 ? 0 : Math.min(1, (wanted - passed) / length)
    places.push({ x: a.x + (b.x - a.x) * share, y: a.y + (b.y - a.y) * share, angle: angleTo(a, b) })
  }
  return places
}

function pieceLength(line: Line, piece: number): number {
  return distance(line[piece] ?? CENTRE, line[piece + 1] ?? line[piece] ?? CENTRE)
}
