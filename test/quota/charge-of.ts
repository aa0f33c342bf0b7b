import type { Charge } from '../../src/quota/charge.ts'

/** A charge of one token of `read` to Alice, who is in no organisation, unless the parts say otherwise. */
export function chargeOf(parts: Partial<Charge> & Pick<Charge, 'limits'>): Charge {
  return { user: 'alice', organisation: null, category: 'read', cost: 1, ...parts }
}
