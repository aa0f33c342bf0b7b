import type { PlacedNote, Slide } from '../simai/notes.ts'
import { at, CENTRE, type Line, lengthOf, linesOf, placesOn } from './geometry.ts'
import { colourOf, drawStar, pair } from './ink.ts'
import { progressOf, trackOpacity } from './moment.ts'
import { element } from './svg.ts'

/** The tracks of slides, and the stars that trace them. */

/** The most tracks that are drawn at once: nobody could read more. */
const MAX_TRACKS = 48

export function drawTracks(notes: readonly PlacedNote[], now: number): string[] {
  const tracks = notes.flatMap(({ note }) =>
    note.type === 'slide' ? note.paths.map((path) => ({ slide: note, path })) : [],
  )
  const running = tracks.filter(({ slide, path }) => now < slide.time + path.wait + path.duration)
  const starts = Map.groupBy(tracks, ({ slide, path }) => slide.time + path.wait)
  return running.slice(-MAX_TRACKS).flatMap(({ slide, path }) => {
    const opacity = trackOpacity(slide.time - now)
    if (opacity === 0) return []
    const progress = progressOf(slide, path, now)
    // Tracks are an EACH if their stars start together, not their heads.
    const isEach = (starts.get(slide.time + path.wait)?.length ?? 0) > 1
    const colour = colourOf({ break: path.break, each: isEach }, 'star')
    return linesOf(slide.position, path).map((line) => {
      const star = drawTracingStar(slide, line, progress, colour, now - slide.time - path.wait)
      return element('path', { class: `track ${colour}`, opacity, d: chevrons(line, progress) || 'M0 0' }) + star
    })
  })
}

const CHEVRON_GAP = 13

/** Arrow heads on the part of the line that the star has not passed yet. */
function chevrons(line: Line, progress: number): string {
  const length = lengthOf(line)
  const count = Math.floor(length / CHEVRON_GAP)
  const distances = Array.from({ length: count }, (_, index) => (index + 1) * CHEVRON_GAP)
  const left = distances.filter((distance) => distance > progress * length)
  return placesOn(line, left)
    .map(({ angle, ...tip }) => `M${pair(at(angle - 140, 9, tip))}L${pair(tip)}L${pair(at(angle + 140, 9, tip))}`)
    .join('')
}

/** A star that waits is drawn smaller, at the start of its path. The star of a slide without a head is shown when it moves. */
function drawTracingStar(slide: Slide, line: Line, progress: number, colour: string, moving: number): string {
  const waits = moving < 0
  if (moving < 0 && (slide.head === false || moving < -waitOf(slide))) return ''
  const [place = { ...CENTRE, angle: 0 }] = placesOn(line, [progress * lengthOf(line)])
  return drawStar(place, waits ? 9 : 13, colour, place.angle)
}

/** The shortest wait of the paths. Each star is shown for so long before it moves. */
function waitOf({ paths }: Slide): number {
  return Math.min(...paths.map(({ wait }) => wait))
}
