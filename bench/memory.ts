/** The memory to walk through: four times the second cache of a core, a small part of the third, which machines share. */
const BYTES = 4 * 1024 * 1024
/** Numbers of 32 bits in a line of the cache. */
const LINE = 16
const STEPS = 1_000_000

/**
 * The time of one memory access that depends on the one before, in nanoseconds. If neighbours occupy the third cache of the processor it is
 * ten times as long, and requests take up to twice their time.
 */
export function memoryStep(): number {
  const next = cycle(BYTES / LINE / Int32Array.BYTES_PER_ELEMENT)
  let at = walk(next, 0, next.length / LINE) // Each line is visited once, so that its page exists.
  const begin = performance.now()
  at = walk(next, at, STEPS)
  const ns = ((performance.now() - begin) / STEPS) * 1e6
  return at < 0 ? Number.NaN : ns // The result is used, so that the walk is not optimised away.
}

/** @returns for each line, at its first number, the place of the next one: a single random path through all lines */
export function cycle(lines: number): Int32Array {
  const order = Int32Array.from({ length: lines }, (_, i) => i)
  for (let i = lines - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[order[i], order[j]] = [order[j] as number, order[i] as number]
  }
  const next = new Int32Array(lines * LINE)
  for (const [i, line] of order.entries()) next[line * LINE] = (order[(i + 1) % lines] as number) * LINE
  return next
}

export function walk(next: Int32Array, from: number, steps: number): number {
  let at = from
  for (let i = 0; i < steps; i++) at = next[at] as number
  return at
}
