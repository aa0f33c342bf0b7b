import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../auth/authenticator.ts'
import type { Holder } from '../edge/shares.ts'
import type { Denial } from '../errors.ts'
import type { Charge, Decision } from '../quota/charge.ts'
import type { OwnResponse } from '../respond/response.ts'
import type { Target } from '../routing/target.ts'
import type { Route, Rules } from './snapshot.ts'

/** What is found out about a request on its way; each step adds its part, the last one records it. */
export interface Exchange {
  readonly req: IncomingMessage
  /** `null` for an upgrade, which has a bare socket. */
  readonly res: ServerResponse | null
  readonly rules: Rules
  readonly requestId: string
  /** Monotonic milliseconds. */
  readonly startedAt: number
  readonly holder: Holder
  route: Route | null
  caller: Caller | null
  cost: number
  /** Whether the quota refused it and it is let through. */
  shadowed: boolean
}

/** A request that may go to the backend. */
export interface Pass {
  readonly target: Target
  /** The body where it had to be read before the charge. */
  readonly body: Buffer | null
  /** `null` where nothing was charged. */
  readonly charged: Decided | null
  /** What was refused and is let through, uncharged; `null` where that is not so. */
  readonly shadowed: ShadowRefusal | null
}

export interface Decided {
  readonly charge: Charge
  readonly decision: Decision
}

/** A refusal that is only counted and told. */
export interface ShadowRefusal {
  readonly charge: Charge
  /** `null` where the store did not decide. */
  readonly decision: Decision | null
}

/** An answer of ours instead. */
export type Stop =
  | { readonly kind: 'answered'; readonly response: OwnResponse }
  | { readonly kind: 'refused'; readonly response: OwnResponse }
  | { readonly kind: 'denied'; readonly denial: Denial }

/** What admission comes to. */
export type Admission = { readonly kind: 'pass'; readonly pass: Pass } | Stop

export function denied(denial: Denial): Stop {
  return { kind: 'denied', denial }
}
