import type { Config } from '../config/config.ts'

/** How long the collector may take for the last spans, in milliseconds. */
export const LAST_SPANS_MS = 1000
/**
 * Deadlines of the store within which everything is settled behind the last request, however silent it is: five for charges, six for usage and what else
 * is kept, two to leave.
 */
const DEADLINES = 13
/** For what waits for nobody, on a busy machine. */
const OWN_MS = 500

/** How long a process takes at most to settle and close behind its last request, in milliseconds: 4.75 s with the default deadline of 250 ms. */
export function closingMs({ store }: Pick<Config, 'store'>): number {
  return DEADLINES * store.deadlineMs + LAST_SPANS_MS + OWN_MS
}
