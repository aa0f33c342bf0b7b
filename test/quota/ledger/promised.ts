import type { Charge, Decision } from '../../../src/quota/charge.ts'
import type { Asker } from '../../../src/quota/ledger/ledger-contract.ts'

/** What an asker hears, as a promise. */
export function promised(ask: (asker: Asker) => void): Promise<Decision> {
  return new Promise((decided, undecided) => ask({ decided, undecided }))
}

/** A charge that waits in a queue. */
export function queued(queue: { add(charge: Charge, asker: Asker): void }, charge: Charge): Promise<Decision> {
  return promised((asker) => queue.add(charge, asker))
}
