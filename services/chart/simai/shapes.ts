import type { Shape } from './notes.ts'

/** All shapes. Longer names come first, so that `pp` is not read as `p`. */
export const SHAPES: readonly Shape[] = ['pp', 'qq', '-', '^', '<', '>', 'v', 'V', 'p', 'q', 's', 'z', 'w']

/** The number of steps between two buttons, the shorter way round: 0 to 4. */
function apart(a: string, b: string): number {
  const steps = Math.abs(Number(a) - Number(b))
  return Math.min(steps, 8 - steps)
}

/** The reason why no slide of the shape leads from `start` to `end`; `null` if one does. */
export function shapeProblem(shape: Shape, start: string, end: string, via: string | undefined): string | null {
  const distance = apart(start, end)
  switch (shape) {
    case '-':
      return distance >= 2 ? null : `a straight slide ends two buttons or more from its start, not ${start}-${end}`
    case '^':
      return distance >= 1 && distance <= 3 ? null : `${start}^${end} has no shorter way round; write < or >`
    case 'v':
      return distance === 4 ? `${start}v${end} is a straight line; write ${start}-${end}` : null
    case 'V':
      return grandVProblem(start, via ?? '', end)
    case 's':
    case 'z':
    case 'w':
      return distance === 4 ? null : `a slide ${shape} ends opposite its start, which is not ${start}${shape}${end}`
    default:
      return null
  }
}

function grandVProblem(start: string, via: string, end: string): string | null {
  if (apart(start, via) !== 2) return `a slide V turns two buttons from its start, not ${start}V${via}${end}`
  if (apart(via, end) < 2) return `a slide V ends two buttons or more from its turn, not ${start}V${via}${end}`
  return null
}

/** Whether an arc runs clockwise: `>` goes to the right at the upper buttons and to the left at the lower ones. */
export function isClockwise(shape: '^' | '<' | '>', start: string, end: string): boolean {
  if (shape === '^') return (Number(end) - Number(start) + 8) % 8 < 4
  const upper = '7812'.includes(start)
  return upper === (shape === '>')
}
