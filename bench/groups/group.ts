import type { OpenLoopLoad } from '../load.ts'
import type { Section } from '../report.ts'
import type { Requests } from '../requests.ts'
import type { Rounds } from '../rows.ts'
import type { Stage } from '../servers.ts'

/** What a group measures with. */
export interface Bench extends Rounds {
  readonly stage: Stage
  readonly requests: Requests
  readonly openLoop: OpenLoopLoad
  /** Only to see that it works: what takes long may be made smaller. */
  readonly quick: boolean
}

export type Group = (bench: Bench) => Promise<Section>

/** Twice as many rounds, where a bound is narrow: medians of 5 differ by 0.03. */
export function narrowly(bench: Bench): Bench {
  return bench.quick ? bench : { ...bench, rounds: 2 * bench.rounds }
}
