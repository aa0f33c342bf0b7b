import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/** How far the old heap may grow beyond what was alive at its last collection, in percent of that: to twice of it. */
const GROWTH_PERCENT = 100
/** Bytes that V8 must be allowed to use: a container of 512 MB gives it 355 MB, one of 256 MB has no room for more garbage. */
const ROOM = 300 * 1024 * 1024

/**
 * Lets the old heap grow to twice of what is alive before V8 collects it, at any rate of requests.
 *
 * V8 goes by how fast a program fills it. A slow one it collects four times as often. A fast one may grow to four times of what is alive,
 * which is 17 to 42 MB more for at most 5 % of the CPU at full load (docs/contributing/decisions/heap.md).
 *
 * V8's flag is not documented. V8 reads it at the end of each collection, so it counts also if it is set after the start.
 */
export function letHeapGrow(): void {
  if (getHeapStatistics().heap_size_limit >= ROOM) setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
