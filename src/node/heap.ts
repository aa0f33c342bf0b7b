import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/** How far the old heap may grow beyond its size after its last collection, in percent of that size. With 100 it may double. */
const GROWTH_PERCENT = 100
/** Bytes that V8 must be allowed to use: a container of 512 MB allows 355 MB, and one of 256 MB is too small. */
const ROOM = 300 * 1024 * 1024

/**
 * Lets the old heap grow to twice its live size before V8 collects it, at any rate of requests.
 *
 * By default V8 goes by how fast a program fills the heap. For a slow program it collects four times as often. For a fast one the heap may grow to
 * four times its live size, which is 17 to 42 MB more for at most 5 % of the CPU at full load (docs/contributing/decisions/heap.md).
 *
 * The flag of V8 is not documented. V8 reads it at the end of each collection, so it also works if it is set after the start.
 */
export function letHeapGrow(): void {
  if (getHeapStatistics().heap_size_limit >= ROOM) setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
