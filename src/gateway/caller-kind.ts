import type { Caller, CallerKind } from '../auth/authenticator.ts'

/** Of users who are what they are called by: the log need not say so. */
const USUAL_KINDS: ReadonlySet<CallerKind> = new Set(['jwt', 'gateway_token'])

/** How a caller came to be known, for the log; `null` for the usual kinds. */
export function kindOf({ kind }: Pick<Caller, 'kind'>): string | null {
  return USUAL_KINDS.has(kind) ? null : kind
}
