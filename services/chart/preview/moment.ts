import type { Path, Slide } from '../simai/notes.ts'
import { joined, lengthOf, RING } from './geometry.ts'

/** The visible part of a note at a moment. */

/** How long a note of the usual speed travels from its origin to the ring, and how long it grows before, in seconds. */
const TRAVEL_S = 0.6
const GROWTH_S = 0.25
/** The radius at which notes appear. */
export const ORIGIN = RING / 4

/** How many seconds before its time a note of a button becomes visible. */
export function buttonLeadOf(scroll: number): number {
  return (TRAVEL_S + GROWTH_S) / scroll
}

export interface Approach {
  readonly radius: number
  /** The size of the note, 0 to 1. */
  readonly scale: number
}

/** @param left seconds until the note is due @returns `null` if it cannot be seen yet */
export function approach(left: number, scroll: number): Approach | null {
  const travel = (left * scroll) / TRAVEL_S
  if (travel <= 1) return { radius: ORIGIN + (RING - ORIGIN) * (1 - Math.max(0, travel)), scale: 1 }
  const growth = (left * scroll - TRAVEL_S) / GROWTH_S
  return growth < 1 ? { radius: ORIGIN, scale: 1 - growth } : null
}

/** How long before its head is due the track of a slide fades in, in seconds. */
export const TRACK_LEAD_S = 0.7
const TRACK_FADE_S = 0.4

/** The opacity of a track, 0 to 1. @param left seconds until the head is due */
export function trackOpacity(left: number): number {
  return Math.min(1, Math.max(0, (TRACK_LEAD_S - left) / TRACK_FADE_S))
}

/** How far the star has come on its path: 0 while it waits, 1 at the end. */
export function progressOf({ time, position }: Slide, path: Path, now: number): number {
  const moving = now - time - path.wait
  if (moving <= 0) return 0
  if (moving >= path.duration) return 1
  return path.segments?.[0]?.duration === undefined ? moving / path.duration : chainProgress(position, path, moving)
}

/** Each slide of the chain has its own speed. */
function chainProgress(start: string, { segments = [] }: Path, moving: number): number {
  const lengths = joined(start, segments).map(lengthOf)
  const whole = lengths.reduce((sum, length) => sum + length, 0)
  let left = moving
  let passed = 0
  for (const [index, { duration = 0 }] of segments.entries()) {
    const length = lengths[index] ?? 0
    if (left < duration) return (passed + (length * left) / duration) / whole
    left -= duration
    passed += length
  }
  return 1
}
