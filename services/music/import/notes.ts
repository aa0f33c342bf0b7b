/** The notes of one chart without their total. */
export interface Notes {
  readonly tap: number
  readonly hold: number
  readonly slide: number
  readonly touch: number
  readonly break: number
}

/** The sum of the notes of both players of a buddy chart; for one chart, its own notes. */
export function addNotes(all: readonly Notes[]): Notes & { readonly total: number } {
  const sum = (kind: keyof Notes) => all.reduce((total, notes) => total + notes[kind], 0)
  const notes = { tap: sum('tap'), hold: sum('hold'), slide: sum('slide'), touch: sum('touch'), break: sum('break') }
  return { ...notes, total: notes.tap + notes.hold + notes.slide + notes.touch + notes.break }
}
