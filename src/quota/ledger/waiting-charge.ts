import type { Charge, Decision } from '../charge.ts'
import type { StoreError } from '../quota-store.ts'
import type { Asker } from './ledger-contract.ts'

/** A charge and its caller, whom `asker` calls back. */
export interface WaitingCharge {
  readonly charge: Charge
  /** When the deadline of the charge passes, on our clock. */
  expiresAt: number
  readonly asker: Asker
  /** The verdict that its caller got without the store: a local decision, or an error. `null` while the caller still waits. */
  verdict: Decision | 'error' | null
}

export function isWaiting({ verdict }: WaitingCharge): boolean {
  return verdict === null
}

/** Ends the caller's wait with a local decision. The call comes in a microtask, after any loop over the waiting charges. */
export function resolveLocally(waiting: WaitingCharge, decision: Decision): void {
  waiting.verdict = decision
  queueMicrotask(() => waiting.asker.decided(decision))
}

/** Ends the caller's wait with an error, in a microtask like `resolveLocally`. */
export function abandon(waiting: WaitingCharge, error: StoreError): void {
  waiting.verdict = 'error'
  queueMicrotask(() => waiting.asker.undecided(error))
}

export function isAdmitted(verdict: Decision | 'error'): verdict is Decision {
  return verdict !== 'error' && verdict.accepted
}
