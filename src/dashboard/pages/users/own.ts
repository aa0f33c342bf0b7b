import { createContext, useContext } from 'react'
import type { Polled } from '../../api/use-poll.ts'
import type { Owner } from '../../logic/category-usage.ts'
import type { Overridable } from '../../logic/override.ts'

/** How a user or an organisation is read again, and changed. */
export interface Ways extends Pick<Polled<unknown>, 'etag' | 'read' | 'reload'> {
  /** The path of the owner in the API. */
  readonly path: string
}

/** The owner of a page and how to read it again, for all parts of the page. */
export interface Own extends Ways {
  readonly response: Overridable
  /** Whether nothing is charged to the user, so that no limit holds. Default false. */
  readonly exempt?: boolean
}

export const OwnContext = createContext<Own | null>(null)

export function useOwn(): Own {
  const own = useContext(OwnContext)
  if (own === null) throw new Error('no OwnContext')
  return own
}

/** The owner of the page in the form of a query of the API. */
export function useOwner(): Owner {
  const { kind, id } = useOwn().response
  return kind === 'user' ? { user: id } : { organisation: id }
}
