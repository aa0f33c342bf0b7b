import { breath } from './steps.ts'

/** Runs tasks one after the other, in the order of the calls. */
export type InTurn = <T>(task: () => Promise<T>) => Promise<T>

export function oneAtATime(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return function inTurn(task) {
    const result = last.then(task)
    last = result.catch(() => {})
    return result
  }
}

/** The same with the event loop free behind each task, for what is long. */
export function oneAtATimeWithRest(): InTurn {
  const inTurn = oneAtATime()
  return (task) =>
    inTurn(async () => {
      const result = await task()
      await breath()
      return result
    })
}

/** Work of which there is one at a time: whoever asks while it is under way gets what comes of that. */
export function together<T>(work: () => Promise<T>): () => Promise<T> {
  let underway: Promise<T> | null = null
  return () => {
    underway ??= work().finally(() => {
      underway = null
    })
    return underway
  }
}
