import type { Observation, Observer } from './observation.ts'

/**
 * Joins readers into one Observer, which calls them in the given order. A reader that throws never harms the observed
 * request or the readers after it: its error is reported to the others as an `internal_error`.
 */
export function fanOut(readers: readonly Observer[]): Observer {
  return function reportAll(observation: Observation): void {
    for (const reader of readers) {
      try {
        reader(observation)
      } catch (error) {
        report(error, reader, readers)
      }
    }
  }
}

/** Reported once to each of the others. A second failure meanwhile is reported to nobody. */
function report(error: unknown, broken: Observer, readers: readonly Observer[]): void {
  for (const reader of readers) {
    if (reader === broken) continue
    try {
      reader({ type: 'internal_error', where: 'observer', error })
    } catch {}
  }
}
