import { breath } from './steps.ts'

/** How long work may block the event loop before others have their turn, in milliseconds. */
const SLICE_MS = 5

/** Long work, in slices. */
export interface Slices {
  /** Whether others should have their turn: then call `await next()`. */
  isOver(): boolean
  next(): Promise<void>
}

export function inSlices(sliceMs = SLICE_MS): Slices {
  let began = performance.now()
  return {
    isOver: () => performance.now() - began > sliceMs,
    async next() {
      await breath()
      began = performance.now()
    },
  }
}

/** Sorts texts by their code units, in several turns of the event loop. */
export async function sortedInSlices(texts: readonly string[], slices = inSlices()): Promise<string[]> {
  let runs: string[][] = []
  for (let i = 0; i < texts.length; i += RUN) {
    runs.push(texts.slice(i, i + RUN).sort())
    if (slices.isOver()) await slices.next()
  }
  while (runs.length > 1) {
    const longer: string[][] = []
    for (let i = 0; i < runs.length; i += 2) longer.push(await merged(runs[i] ?? [], runs[i + 1] ?? [], slices))
    runs = longer
  }
  return runs[0] ?? []
}

const RUN = 2000
/** While two runs are merged, the clock is read once for so many texts. */
const LOOK = 1000

async function merged(a: readonly string[], b: readonly string[], slices: Slices): Promise<string[]> {
  const all: string[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]]
    if (right === undefined || (left !== undefined && left <= right)) {
      all.push(left as string)
      i++
    } else {
      all.push(right)
      j++
    }
    if (all.length % LOOK === 0 && slices.isOver()) await slices.next()
  }
  return all
}
