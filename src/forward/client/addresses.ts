import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'

type Resolve = (
  name: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Resolves a name as Node does, but begins with the next address each time, so that connections are distributed over all
 * addresses. Node tries the others if one does not accept the connection.
 *
 * The addresses are sorted first, because a resolver that rotates them itself would undo this.
 */
export function addressesInTurn(resolve: Resolve = lookup): LookupFunction {
  let turn = Math.floor(Math.random() * 1_000)
  return (name, options, callback) => {
    resolve(name, { ...options, all: true }, (error, addresses) => {
      const [first, ...others] = error === null ? turned(addresses, turn++) : []
      if (first === undefined) callback(error, [])
      else if (options.all) callback(null, [first, ...others])
      else callback(null, first.address, first.family)
    })
  }
}

function turned(addresses: readonly LookupAddress[], turn: number): LookupAddress[] {
  const sorted = addresses.toSorted((a, b) => (a.address < b.address ? -1 : 1))
  const start = turn % sorted.length
  return [...sorted.slice(start), ...sorted.slice(0, start)]
}
