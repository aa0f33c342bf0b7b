import type { StatusResponse } from '../../contract/api.ts'
import type { Rates } from './rates.ts'

/** What the line about refusals says, from the summary of the API. Pure. */

/** Shares of failures, 0 to 1: a line appears at the first and goes below the second, so that it does not come and go. */
const APPEARS = 0.02
const GOES = 0.005

/** A share of failures that is worth red. */
export const ALARMING = 0.05

/** Fewer forwarded requests than these have no share worth a line. */
const LEAST_FORWARDED = 20

/** A window of everybody without room. */
export type FullWindow = StatusResponse['full'][number]

/** Whether nobody was refused in the last minutes. Somebody who sends nothing may have no room all the same. */
export function hasNoRefusals({ full, users, organisations, global, store }: StatusResponse): boolean {
  return full.length === 0 && users + organisations + global === 0 && store.answers
}

/**
 * Share of the forwarded requests of the last minute that the upstream fails, 0 to 1; `null` if that is none worth a line, or not known.
 * @param wasFailing whether there is a line already
 */
export function failingShare({ upstream }: Pick<StatusResponse, 'upstream'>, wasFailing: boolean): number | null {
  if (upstream === null || upstream.requests < LEAST_FORWARDED) return null
  const share = failedShare({ failed: upstream.failed, forwarded: upstream.requests }) ?? 0
  return share >= (wasFailing ? GOES : APPEARS) ? share : null
}

/** Failures of the upstream as a share of the forwarded requests, 0 to 1; `null` if none was forwarded. */
export function failedShare({ failed, forwarded }: Pick<Rates, 'failed' | 'forwarded'>): number | null {
  return forwarded > 0 ? Math.min(1, failed / forwarded) : null
}
