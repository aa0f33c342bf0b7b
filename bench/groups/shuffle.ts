/** A random order that is the same in every run, from a linear congruential generator (Numerical Recipes). */
export function shuffled<T>(list: readonly T[]): T[] {
  const result = [...list]
  let state = 1
  for (let last = result.length - 1; last > 0; last--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    const other = Math.floor((state / 2 ** 32) * (last + 1))
    const moved = result[last] as T
    result[last] = result[other] as T
    result[other] = moved
  }
  return result
}
