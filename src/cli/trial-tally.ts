import type { ErrorCode } from '../errors.ts'
import { counted } from '../lib/counted.ts'
import { scrub } from '../lib/scrub.ts'
import { shown } from '../lib/shown.ts'
import type { Observation, RequestDone } from '../observe/observation.ts'

/** Counts the requests of a trial that are not in its log. */
export interface TrialTally {
  /** @param done a request that is not in the log */
  leftOut(done: Ended): void
  /** A request may be refused on its connection, which only observations show. */
  hear(observation: Observation): void
  /** How many requests were counted. */
  readonly total: number
  /** A line for each status and reason, most frequent first. */
  lines(): string[]
}

export type Ended = Pick<RequestDone, 'outcome' | 'error' | 'reason' | 'clientStatus'>

/** @param upstream URL of the service */
export function createTrialTally(upstream: string): TrialTally {
  /** Counts by kind. There are no more kinds than pairs of a status and an error. */
  const kinds = new Map<string, { count: number; reason: string | null }>()
  let total = 0
  function add(kind: string, reason: string | null): void {
    total++
    const { count } = kinds.get(kind) ?? { count: 0 }
    kinds.set(kind, { count: count + 1, reason })
  }
  return {
    leftOut(done) {
      add(kindOf(done, upstream), done.reason)
    },
    hear(observation) {
      if (observation.type !== 'bad_connection' || observation.refused === undefined) return
      const { error, reason } = observation.refused
      add(`${observation.status}: ${refusedFor(error)}`, reason)
    },
    get total() {
      return total
    },
    lines: () =>
      [...kinds]
        .sort(([, a], [, b]) => b.count - a.count)
        .map(
          ([kind, { count, reason }]) => `${count} got ${kind}${reason === null ? '' : ` (${shown(scrub(reason))})`}`,
        ),
  }
}

function kindOf({ outcome, error, clientStatus }: Ended, upstream: string): string {
  if (outcome === 'aborted') return 'no response: the client left before it'
  if (outcome === 'answered') return `${clientStatus}: the gateway has this path for itself`
  return `${clientStatus}: ${(error === null ? undefined : FAILURES[error])?.(upstream) ?? refusedFor(error)}`
}

const FAILURES: Partial<Record<ErrorCode, (upstream: string) => string>> = {
  upstream_unreachable: (upstream) => `${upstream} cannot be reached`,
  upstream_timeout: (upstream) => `${upstream} took too long`,
  bad_upstream_answer: (upstream) => `${upstream} sent no whole response of valid HTTP`,
}

function refusedFor(error: ErrorCode | null): string {
  return `the gateway refused it${error === null ? '' : `, ${error}`}`
}

/**
 * The requests that are not in the log: a sentence, and a line for each kind.
 * @param logged requests in the log
 * @returns `null` if all requests are in the log
 */
export function leftOutText(logged: number, { total, lines }: Pick<TrialTally, 'total' | 'lines'>): string | null {
  if (total === 0) return logged === 0 ? 'No request came, so no configuration is suggested.' : null
  const requests = counted(total, 'request')
  const what =
    logged === 0
      ? `${requests} came and got no response of the service, so no configuration is suggested:`
      : `${requests} got no response of the service and will not count:`
  return [what, ...lines().map((line) => `  ${line}`)].join('\n')
}
