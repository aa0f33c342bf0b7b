/** Runs tasks one after the other, in the order in which they were asked for. */
export type InTurn = <T>(task: () => Promise<T>) => Promise<T>

export function oneAtATime(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return function inTurn(task) {
    const result = last.then(task)
    last = result.catch(() => {})
    return result
  }
}
