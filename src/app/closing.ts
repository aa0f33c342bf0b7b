import type { Config } from '../config/config.ts'

/** How long the collector may take for the last spans, in milliseconds. */
export const LAST_SPANS_MS = 1000
/**
 * The longest time that settling takes after the last request, as a number of deadlines of the store, even if the store is silent: five
 * for charges, six for usage and other stored facts, and two to disconnect.
 */
const DEADLINES = 13
/** The time for work that does not wait for the store, on a busy machine, in milliseconds. */
const OWN_MS = 500

/** How long a process takes at most to settle and close after its last request, in milliseconds: 4.75 s with the default deadline of 250 ms. */
export function closingMs({ store }: Pick<Config, 'store'>): number {
  return DEADLINES * store.deadlineMs + LAST_SPANS_MS + OWN_MS
}
