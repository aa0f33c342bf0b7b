import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'

type Resolve = (
  name: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Resolves a name as Node does, and begins with the next of its addresses each time, so that new connections are shared among
 * all of them. Node tries the others if one takes no connection.
 *
 * The addresses are put into one order first: a resolver that itself begins with another one each time would undo the turn.
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
