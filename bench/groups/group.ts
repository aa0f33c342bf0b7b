import type { OpenLoopLoad } from '../load.ts'
import type { Section } from '../report.ts'
import type { Requests } from '../requests.ts'
import type { Rounds } from '../rows.ts'
import type { Stage } from '../servers.ts'

/** The tools that a group measures with. */
export interface Bench extends Rounds {
  readonly stage: Stage
  readonly requests: Requests
  readonly openLoop: OpenLoopLoad
  /** The run only checks that the benchmark works: long work may be made smaller. */
  readonly quick: boolean
  /** The commit that attacks are compared with. */
  readonly before: string
}

export type Group = (bench: Bench) => Promise<Section>

/** For narrow bounds: twice the time, in turns of 1 s, because the speed of the machine changes from minute to minute. */
export function inShortTurns(bench: Bench): Bench {
  return bench.quick ? bench : { ...bench, rounds: 2 * bench.rounds * bench.seconds, seconds: 1 }
}
