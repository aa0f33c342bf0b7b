import { StoreError } from '../../../src/quota/quota-store.ts'

/** Asks again while other processes hold the file, as a ledger does: on a busy machine that may be long. */
export async function insisting<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== 'busy') throw error
    }
  }
}
