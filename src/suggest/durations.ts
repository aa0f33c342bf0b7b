import type { Entry } from '../replay/entry.ts'

/** Eight buckets for each factor of 2: a median is right within 5 %. */
const FINENESS = 8
/** Buckets up to 2^32 ms. */
const BUCKETS = 32 * FINENESS
/** With fewer responses a median is chance. */
const ENOUGH = 10
const MOST_TOKENS = 100

/** Durations of any number of responses. */
export interface Durations {
  add(ms: number): void
  /** The median in milliseconds; `null` with too few durations. */
  median(): number | null
}

function createDurations(): Durations {
  const counts = new Uint32Array(BUCKETS)
  let total = 0
  return {
    add(ms) {
      const bucket = Math.min(BUCKETS - 1, Math.floor(FINENESS * Math.log2(ms + 1)))
      counts[bucket] = (counts[bucket] as number) + 1
      total++
    },
    median() {
      if (total < ENOUGH) return null
      let [bucket, below] = [0, counts[0] as number]
      while (below * 2 < total) below += counts[++bucket] as number
      return 2 ** ((bucket + 0.5) / FINENESS) - 1
    },
  }
}

/** The durations of the responses of each route, and of all. */
export class RouteDurations {
  readonly all = createDurations()
  readonly #routes = new Map<string, Durations>()
  #hasTimes = false

  /** A log without durations ends each request at its begin. */
  add(route: string, { at, endedAt, fate }: Pick<Entry, 'at' | 'endedAt' | 'fate'>): void {
    if (fate !== 'passed') return
    const ms = endedAt - at
    if (ms > 0) this.#hasTimes = true
    const durations = this.#routes.get(route) ?? createDurations()
    this.#routes.set(route, durations)
    durations.add(ms)
    this.all.add(ms)
  }

  /** The median in milliseconds; `null` if the log does not have it. */
  medianOf(route: string): number | null {
    return this.#hasTimes ? (this.#routes.get(route)?.median() ?? null) : null
  }

  /** Whole tokens, 1 to 100: the median of the route as a multiple of the median of all; 1 if the log does not have it. */
  costOf(route: string): number {
    const [own, all] = [this.medianOf(route), this.all.median()]
    if (own === null || all === null || all <= 0) return 1
    return Math.min(MOST_TOKENS, Math.max(1, Math.round(own / all)))
  }
}
