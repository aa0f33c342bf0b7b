import type { NoteCounts } from '../catalogue-file.ts'

/** The notes of one chart without their total. */
export type Notes = Omit<NoteCounts, 'total'>

/** The sum of the notes of both players of a buddy chart; for one chart, its own notes. */
export function addNotes(all: readonly Notes[]): NoteCounts {
  const sum = (kind: keyof Notes) => all.reduce((total, notes) => total + notes[kind], 0)
  const notes = { tap: sum('tap'), hold: sum('hold'), slide: sum('slide'), touch: sum('touch'), break: sum('break') }
  return { ...notes, total: notes.tap + notes.hold + notes.slide + notes.touch + notes.break }
}
