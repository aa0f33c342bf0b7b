import { remembered } from '../lib/memo.ts'
import { type NetworkBits, networkOf } from '../lib/peers.ts'
import { type Caller, callerOf } from './verdict.ts'

export interface AddressRules extends NetworkBits {
  /** `null` for none. */
  readonly plan: string | null
}

/** Callers without any credential: each address, or each network of this size, is a user. */
export function createAddressCallers({ plan, ...bits }: AddressRules): (address: string) => Caller {
  return remembered((address) => ({ ...callerOf(ADDRESS_PREFIX + networkOf(address, bits), 'address'), plan }))
}

/** The prefix of the id of a user who is known by address only. */
export const ADDRESS_PREFIX = 'address:'
