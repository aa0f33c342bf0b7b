import { describe, expect, it } from 'vitest'
import {
  at,
  buttonAngle,
  CENTRE,
  type Line,
  lengthOf,
  linesOf,
  type Point,
  placesOn,
  RING,
  sensorPoint,
} from '../../../chart/preview/geometry.ts'
import { progressOf } from '../../../chart/preview/moment.ts'
import { parseMaidata } from '../../../chart/simai/maidata.ts'
import type { Slide } from '../../../chart/simai/notes.ts'

function slideOf(text: string): Slide {
  const { charts, errors, warnings } = parseMaidata(`&title=T\n&inote_5=(60)${text},E`)
  expect([errors, warnings]).toEqual([[], []])
  return charts[0]?.notes[0]?.note as Slide
}

function lines(text: string): Line[] {
  const slide = slideOf(text)
  return slide.paths.flatMap((path) => linesOf(slide.position, path))
}

/** `1` to `8` on the ring, or a sensor. */
function placeOf(name: string): Point {
  return /^\d$/.test(name) ? at(buttonAngle(name), RING) : sensorPoint(name)
}

function apart(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y)
}

/** How far along the line it comes closest to the place, and how close. */
function passing(line: Line, name: string): { where: number; distance: number } {
  const steps = Array.from({ length: 401 }, (_, step) => (step * lengthOf(line)) / 400)
  const distances = placesOn(line, steps).map((place) => apart(place, placeOf(name)))
  const distance = Math.min(...distances)
  return { where: distances.indexOf(distance), distance }
}

it('the screen has its buttons clockwise from the upper right', () => {
  const sides = ['1', '2', '3', '4', '5', '6', '7', '8'].map((button) => {
    const { x, y } = placeOf(button)
    return (y < CENTRE.y ? 'upper ' : 'lower ') + (x > CENTRE.x ? 'right' : 'left')
  })
  const quarters = ['upper right', 'lower right', 'lower left', 'upper left']
  expect(sides).toEqual(quarters.flatMap((quarter) => [quarter, quarter]))
})

it('the screen has the sensors D1 and E1 at the top and C in the middle', () => {
  expect(sensorPoint('C')).toEqual(CENTRE)
  for (const sensor of ['D1', 'E1']) expect(sensorPoint(sensor).x).toBeCloseTo(CENTRE.x, 9)
  expect(sensorPoint('D1').y).toBeLessThan(sensorPoint('E1').y)
  expect(sensorPoint('A1').x).toBeGreaterThan(CENTRE.x)
})

describe('a slide', () => {
  it.each([
    ['1-4', '1 4'],
    ['1-5', '1 C 5'],
    ['1>4', '1 2 3 4'],
    ['1<4', '1 8 7 6 5 4'],
    ['8>2', '8 1 2'],
    ['7<5', '7 6 5'],
    ['5>3', '5 4 3'],
    ['3>1', '3 2 1'],
    ['5<7', '5 6 7'],
    ['4<6', '4 5 6'],
    ['1>1', '1 3 5 7'],
    ['1^3', '1 2 3'],
    ['1^7', '1 8 7'],
    ['4^2', '4 3 2'],
    ['1v4', '1 C 4'],
    ['1V35', '1 3 5'],
    ['1s5', '1 B7 C B3 5'],
    ['1z5', '1 B3 C B7 5'],
    ['1p5', '1 B8 B7 B6 5'],
    ['1q5', '1 B2 B3 B4 5'],
    ['1p8', '1 B7 B5 B3 8'],
    ['1q2', '1 B3 B5 B7 2'],
    ['1pp3', '1 B1 C B4 3'],
    ['1pp1', '1 C A4 A3'],
    ['1qq7', '1 B1 C B6 7'],
    ['1qq1', '1 C A6 A7'],
    ['1-4q7-2', '1 4 7 2'],
    ['2V86-3', '2 8 6 3'],
  ])('%s passes %s', (text, names) => {
    const [line = []] = lines(`${text}[4:1]`)
    const passed = names.split(' ').map((name) => passing(line, name))
    for (const { distance } of passed) expect(distance).toBeLessThan(0.17 * RING)
    const order = passed.map(({ where }) => where)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(apart(line.at(-1) ?? CENTRE, placeOf(text.at(-1) ?? ''))).toBeCloseTo(0, 6)
  })

  it.each([
    ['1p5', 'C'],
    ['1p5', 'B3'],
    ['1q5', 'B7'],
    ['1pp1', 'B7'],
    ['1>4', 'C'],
  ])('%s stays away from %s', (text, name) => {
    const [line = []] = lines(`${text}[4:1]`)
    expect(passing(line, name).distance).toBeGreaterThan(0.3 * RING)
  })

  it('a slide with w is a fan to the button and its neighbours', () => {
    const ends = lines('1w5[4:1]').map((line) => ['4', '5', '6'].find((name) => passing(line, name).distance < 1e-6))
    expect(ends).toEqual(['4', '5', '6'])
  })
})

const progress = (text: string, now: number) => {
  const slide = slideOf(text)
  return slide.paths.map((path) => progressOf(slide, path, now))
}

it('the star of a slide waits, moves at one speed, and arrives', () => {
  expect([0, 1, 1.5, 2, 3, 9].map((now) => progress('1-5[4:2]', now)[0])).toEqual([0, 0, 0.25, 0.5, 1, 1])
})

it('the star of a slide keeps its speed over the bends of a chain that has one duration', () => {
  expect(progress('1-4q7-2[1:1]', 3)).toEqual([0.5])
})

it('the star of a slide is at the end of each slide of a chain when that one is over', () => {
  const [middle = 0] = progress('1-5[4:1]-2[4:3]', 2)
  const [first = [], second = []] = ['1-5[4:1]', '5-2[4:3]'].map((text) => lines(text)[0] ?? [])
  expect(middle).toBeCloseTo(lengthOf(first) / (lengthOf(first) + lengthOf(second)), 9)
  expect(progress('1-5[4:1]-2[4:3]', 5)).toEqual([1])
})
