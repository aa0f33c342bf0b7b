import { remembered } from '../lib/memo.ts'
import { type NetworkBits, networkOf } from '../lib/peers.ts'
import { type Caller, callerOf } from './verdict.ts'

export interface AddressRules extends NetworkBits {
  /** `null` for none. */
  readonly plan: string | null
}

/** Callers who say nothing of themselves: each address, or network of so many bits, is a user. */
export function createAddressCallers({ plan, ...bits }: AddressRules): (address: string) => Caller {
  return remembered((address) => ({ ...callerOf(ADDRESS_PREFIX + networkOf(address, bits), 'address'), plan }))
}

/** What the id of such a user begins with. */
export const ADDRESS_PREFIX = 'address:'
