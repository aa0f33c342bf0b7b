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

/** The same object with these methods run one at a time, whoever calls them. The methods may not need `this`. */
export function takingTurns<S extends object>(of: S, names: readonly (keyof S)[]): S {
  const inTurn = oneAtATime()
  const wrapped = names.map((name) => {
    const method = of[name] as (...asked: unknown[]) => Promise<unknown>
    return [name, (...asked: unknown[]) => inTurn(() => method(...asked))]
  })
  return { ...of, ...Object.fromEntries(wrapped) }
}

/** Like `oneAtATime`, for long tasks: the event loop is left to others after each of them. */
export function oneAtATimeWithRest(): InTurn {
  const inTurn = oneAtATime()
  return (task) =>
    inTurn(async () => {
      const result = await task()
      await breath()
      return result
    })
}

/** Does work only once at a time. A call while the work is under way gets the result of the same work. */
export function together<T>(work: () => Promise<T>): () => Promise<T> {
  let underway: Promise<T> | null = null
  return () => {
    underway ??= work().finally(() => {
      underway = null
    })
    return underway
  }
}
