import type { Charge, Decision } from '../charge.ts'
import type { StoreError } from '../quota-store.ts'
import type { Asker } from './ledger-contract.ts'

/** A charge and its caller, whom `asker` calls back. */
export interface WaitingCharge {
  readonly charge: Charge
  /** When its deadline passes, on our clock. */
  expiresAt: number
  readonly asker: Asker
  /** The verdict that its caller got without the store: that of local counters, or an error. `null`: the caller still waits. */
  verdict: Decision | 'error' | null
}

export function isWaiting({ verdict }: WaitingCharge): boolean {
  return verdict === null
}

/** Its caller gets the verdict of local counters, and waits no more. He hears of it when whoever looks at all who wait is done. */
export function resolveLocally(waiting: WaitingCharge, decision: Decision): void {
  waiting.verdict = decision
  queueMicrotask(() => waiting.asker.decided(decision))
}

/** Its caller gets an error, and waits no more. He hears of it as in `resolveLocally`. */
export function abandon(waiting: WaitingCharge, error: StoreError): void {
  waiting.verdict = 'error'
  queueMicrotask(() => waiting.asker.undecided(error))
}

export function isAdmitted(verdict: Decision | 'error'): verdict is Decision {
  return verdict !== 'error' && verdict.accepted
}
