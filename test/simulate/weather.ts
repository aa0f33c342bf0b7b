import { ALL_ARRIVES, type Fates } from './network.ts'
import type { Random } from './random.ts'

/** What may happen in a world, with its weight. */
export type Mishap =
  | 'reset'
  | 'swallow'
  | 'cut off'
  | 'crash'
  | 'close'
  | 'stall'
  | 'clock of a gateway'
  | 'clock of redis'
  | 'limits'
  | 'plan'
  | 'pause redis'
  | 'restart redis'
  | 'fail over'
  | 'flush scripts'
  | 'refuse writes'

const HARMLESS: Partial<Record<Mishap, number>> = {
  close: 1,
  limits: 2,
  plan: 2,
  'flush scripts': 1,
  'clock of a gateway': 1,
  'clock of redis': 3,
}
const HARMFUL: Record<Mishap, number> = {
  reset: 3,
  swallow: 2,
  'cut off': 2,
  crash: 3,
  close: 1,
  stall: 2,
  'clock of a gateway': 1,
  'clock of redis': 3,
  limits: 2,
  plan: 2,
  'pause redis': 2,
  'restart redis': 2,
  'fail over': 5,
  'flush scripts': 1,
  'refuse writes': 2,
}

/** Forth by less than the time for which Redis remembers a reply. */
const CLOCK_STEPS_MS = [
  1, 500, 1000, 5000, 60_000, 300_000, -1, -500, -1000, -5000, -60_000, -3_600_000, -2_592_000_000,
]
const DAY_SECONDS = 86_400

/** How rough a world is, and how much happens in it; the seed chooses. In a calm one no caller may see an error. */
export interface Weather {
  readonly isCalm: boolean
  readonly fates: Fates
  readonly mishaps: Partial<Record<Mishap, number>>
  readonly mishapEveryMs: number
  readonly clockStepsMs: readonly number[]
  /** How long it goes on, before everything heals. */
  readonly lastsMs: number
  readonly gateways: number
  /** How often each of them is asked. */
  readonly chargeEveryMs: number
  /** How long a replica lacks what is written, before it takes the place of Redis: at most. */
  readonly replicaLagMs: number
  /** How many of such worlds keep histories. */
  readonly kept: number
  /** How many of the requests may come again by a key. */
  readonly keyed: number
  /** Lengths of windows that end meanwhile, in seconds. */
  readonly windows: readonly number[]
  /** Length of one that does not. */
  readonly longWindow: number
  /** Limits are those of a window of this length, in seconds, and as much more as one is longer; 0: the same for all. */
  readonly limitSeconds: number
  /** All runs are compared after every so many runs of the script. */
  readonly compareEvery: number
}

/** Some seconds in which much happens. */
export function weatherOf(random: Random): Weather {
  const kind = random.weighted({ calm: 1, messages: 3, mishaps: 3, storm: 4 })
  const rate = random.between(0.01, 0.15)
  return {
    isCalm: kind === 'calm',
    fates: kind === 'messages' || kind === 'storm' ? roughBy(rate) : ALL_ARRIVES,
    mishaps: kind === 'mishaps' || kind === 'storm' ? HARMFUL : HARMLESS,
    mishapEveryMs: random.between(300, 3000),
    clockStepsMs: CLOCK_STEPS_MS,
    lastsMs: random.between(2000, 8000),
    gateways: random.integer(1, 4),
    chargeEveryMs: random.between(20, 250),
    replicaLagMs: 2500,
    kept: 0.7,
    keyed: 0.3,
    windows: [1, 2, 3, 5, 10, 60],
    longWindow: DAY_SECONDS,
    limitSeconds: 0,
    compareEvery: 1,
  }
}

/** A day of three gateways with all faults. No clock is off by so much that a half hour is too old to be kept, and each request is charged. */
export function dayOf(random: Random): Weather {
  return {
    isCalm: false,
    fates: roughBy(random.between(0.005, 0.03)),
    mishaps: HARMFUL,
    mishapEveryMs: 240_000,
    clockStepsMs: CLOCK_STEPS_MS.filter((ms) => ms >= -3_600_000),
    lastsMs: DAY_SECONDS * 1000,
    gateways: 3,
    chargeEveryMs: 40_000,
    replicaLagMs: 600_000,
    kept: 1,
    keyed: 0,
    windows: [300, 900, 3600],
    longWindow: 8 * DAY_SECONDS,
    limitSeconds: 300,
    compareEvery: 200,
  }
}

function roughBy(rate: number): Fates {
  return { arrives: 1, late: rate, lost: rate, reset: rate, repeated: rate, swallowed: rate / 4 }
}
