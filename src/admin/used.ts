import type { ScopeName } from '../quota/charged-scopes.ts'
import { type Policy, payerOf } from '../quota/policy.ts'
import type { Used } from '../quota/quota-store.ts'
import type { Desk } from './desk.ts'

/** Any user will do for the counters that users share. */
export const ANYBODY = '-'

/**
 * What one user, the users of one organisation or all users together have used, with the store's time of the reading.
 * @param id of the user or of the organisation. For all users together it is only returned
 * @throws StoreError
 */
export async function readUsed(
  { store }: Pick<Desk, 'store'>,
  policy: Pick<Policy, 'countedOf'>,
  scope: ScopeName,
  id: string,
): Promise<Used & { readonly at: number }> {
  const payer =
    scope === 'personal' ? payerOf(id) : { ...payerOf(ANYBODY), organisation: scope === 'organisation' ? id : null }
  const categories = policy.countedOf(payer)
  const { at, [scope]: counters } = await store.readUsage(payer.user, categories, payer.organisation)
  return { id, at, counters: new Map(categories.map((category, i) => [category, counters?.[i] ?? []])) }
}
