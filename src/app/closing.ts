import type { Config } from '../config/config.ts'

/** How long the collector may take for the last spans, in milliseconds. */
export const LAST_SPANS_MS = 1000
/**
 * How many deadlines of the store settling after the last request takes at most, even if the store is silent: five for charges, six for
 * usage and other stored facts, two to disconnect.
 */
const DEADLINES = 13
/** For work that does not wait for the store, on a busy machine. */
const OWN_MS = 500

/** How long a process takes at most to settle and close after its last request, in milliseconds: 4.75 s with the default deadline of 250 ms. */
export function closingMs({ store }: Pick<Config, 'store'>): number {
  return DEADLINES * store.deadlineMs + LAST_SPANS_MS + OWN_MS
}
