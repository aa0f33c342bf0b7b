import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/** How far the old heap may grow beyond what was alive at its last collection, in percent of that: to four times of it. */
const GROWTH_PERCENT = 300
/** Only where V8 may use at least so much, in bytes: a container of 512 MB gives it 355, one of 256 MB has no room for more garbage. */
const ROOM = 300 * 1024 * 1024

/**
 * Lets the old heap grow to four times of what is alive before V8 collects it, as V8 itself allows programs that fill it fast. An accepted
 * request then takes 34.8 us of CPU instead of 38.7 (Node 26.10); docs/decisions/heap.md has the rest. V8 reads the flag at the end of each
 * collection, so it also counts if it is set after the start.
 */
export function letHeapGrow(): void {
  if (getHeapStatistics().heap_size_limit >= ROOM) setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
