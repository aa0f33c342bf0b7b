/** Counts what is under way by some key, up to a limit. Remembers no key whose count is 0. */
export interface Counts {
  /** @returns whether there was room; `leave` must follow only then */
  enter(key: string, max: number): boolean
  leave(key: string): void
}

export function createCounts(): Counts {
  const counts = new Map<string, number>()
  return {
    enter(key, max) {
      const others = counts.get(key) ?? 0
      if (others >= max) return false
      counts.set(key, others + 1)
      return true
    },
    leave(key) {
      const left = (counts.get(key) ?? 0) - 1
      if (left > 0) counts.set(key, left)
      else counts.delete(key)
    },
  }
}
