/** Runs tasks one after the other, in the order in which they were asked for. */
export type InTurn = <T>(task: () => Promise<T>) => Promise<T>

/** The same with the event loop free behind each task, for what is long. */
export function oneAtATimeWithRest(): InTurn {
  const inTurn = oneAtATime()
  return (task) =>
    inTurn(async () => {
      const result = await task()
      await new Promise((resolve) => setImmediate(resolve))
      return result
    })
}

export function oneAtATime(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return function inTurn(task) {
    const result = last.then(task)
    last = result.catch(() => {})
    return result
  }
}
