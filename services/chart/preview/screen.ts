import { at, buttonAngle, CENTRE, RING, sensorPoint } from './geometry.ts'
import { pair } from './ink.ts'
import { element } from './svg.ts'

/** Draws the empty screen, before anything is played. */

/** @param box in the units of the drawing */
export function drawScreen(box: { width: number; height: number }): string {
  const buttons = ['1', '2', '3', '4', '5', '6', '7', '8']
  const sensors = ['A', 'B', 'D', 'E'].flatMap((group) => buttons.map((number) => group + number))
  return [
    element('rect', { class: 'back', width: box.width, height: box.height }),
    element('circle', { class: 'screen', cx: CENTRE.x, cy: CENTRE.y, r: RING + 14 }),
    element('circle', { class: 'ring', cx: CENTRE.x, cy: CENTRE.y, r: RING }),
    ...[...sensors, 'C'].map(drawSensor),
    ...buttons.map(drawButton),
  ].join('')
}

function drawSensor(sensor: string): string {
  const { x, y } = sensorPoint(sensor)
  const name = element('text', { class: 'name', x, y: y + 2.5 }, sensor)
  return element('circle', { class: 'sensor', cx: x, cy: y, r: sensor === 'C' ? 16 : 10 }) + name
}

function drawButton(number: string): string {
  const angle = buttonAngle(number)
  const [inner, outer] = [RING + 20, RING + 38]
  const side = (radius: number, clockwise: 0 | 1, to: number) =>
    `A${radius} ${radius} 0 0 ${clockwise} ${pair(at(to, radius))}`
  const outline = `M${pair(at(angle - 18, inner))}${side(inner, 1, angle + 18)}L${pair(at(angle + 16.5, outer))}${side(outer, 0, angle - 16.5)}Z`
  const { x, y } = at(angle, RING + 29)
  const dot = at(angle, RING)
  return [
    element('path', { class: 'button', d: outline }),
    element('text', { class: 'number', x, y: y + 3.5 }, number),
    element('circle', { class: 'button', cx: dot.x, cy: dot.y, r: 3 }),
  ].join('')
}
