import type { Charge, Decision } from '../charge.ts'
import type { StoreError } from '../quota-store.ts'

/** A charge and its caller. */
export interface WaitingCharge {
  readonly charge: Charge
  /** When its deadline passes, on our clock. */
  expiresAt: number
  readonly resolve: (decision: Decision) => void
  readonly reject: (error: Error) => void
  /** The verdict that its caller got without the store: that of local counters, or an error. `null`: the caller still waits. */
  verdict: Decision | 'error' | null
}

export function isWaiting({ verdict }: WaitingCharge): boolean {
  return verdict === null
}

/** Its caller gets the verdict of local counters, and waits no more. */
export function resolveLocally(waiting: WaitingCharge, decision: Decision): void {
  waiting.verdict = decision
  waiting.resolve(decision)
}

/** Its caller gets an error, and waits no more. */
export function abandon(waiting: WaitingCharge, error: StoreError): void {
  waiting.verdict = 'error'
  waiting.reject(error)
}

export function isAdmitted(verdict: Decision | 'error'): verdict is Decision {
  return verdict !== 'error' && verdict.accepted
}
