import { createContext, useContext } from 'react'
import type { Polled } from '../../api/use-poll.ts'
import type { Owner } from '../../logic/category-usage.ts'
import type { Overridable } from '../../logic/override.ts'

/** How a user or an organisation is read again, and changed. */
export interface Ways extends Pick<Polled<unknown>, 'etag' | 'read' | 'reload'> {
  /** In the API. */
  readonly path: string
}

/** Whose page it is, for all parts of it. */
export interface Own extends Ways {
  readonly response: Overridable
  /** Whether nothing is charged to the user, so that no limit holds. Default not so. */
  readonly exempt?: boolean
}

export const OwnContext = createContext<Own | null>(null)

export function useOwn(): Own {
  const own = useContext(OwnContext)
  if (own === null) throw new Error('no OwnContext')
  return own
}

/** As a query of the API has it. */
export function useOwner(): Owner {
  const { kind, id } = useOwn().response
  return kind === 'user' ? { user: id } : { organisation: id }
}
