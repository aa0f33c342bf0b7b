import type { StatusResponse } from '../../contract/api.ts'
import { shareOf } from './route-usage.ts'

/** The content of the line about refusals, from the summary of the API. Pure. */

/** Shares of failures, 0 to 1. A line appears at the first and disappears below the second, so that it does not flicker. */
const APPEARS = 0.02
const GOES = 0.005

/** A share of failures that is shown in red. */
export const ALARMING = 0.05

/** A share of failures means nothing with fewer forwarded requests than this. */
const LEAST_FORWARDED = 20

/** A global window without room. */
export type FullWindow = StatusResponse['full'][number]

/** Whether the store answers, no global window is full and nobody was refused lately. Somebody who sends nothing may still have no room. */
export function hasNoRefusals({ full, users, organisations, global, store }: StatusResponse): boolean {
  return full.length === 0 && users + organisations + global === 0 && store.answers
}

/**
 * The share of forwarded requests in the last minute that failed, 0 to 1; `null` if it is too low for a line, or unknown.
 * @param wasFailing whether there is a line already
 */
export function failingShare({ upstream }: Pick<StatusResponse, 'upstream'>, wasFailing: boolean): number | null {
  if (upstream === null || upstream.requests < LEAST_FORWARDED) return null
  const share = shareOf(upstream.failed, upstream.requests) ?? 0
  return share >= (wasFailing ? GOES : APPEARS) ? share : null
}
