import { useEffect, useState } from 'react'
import { type Polled, usePoll } from '../../api/use-poll.ts'

/** Pages without anybody that are passed over, at most. */
const MOST_EMPTY = 5

interface Place {
  /** The path of the page that was asked for. */
  readonly asked: string
  /** The page that is shown. */
  readonly path: string
  readonly passed: number
}

interface Search<P> {
  readonly pathOf: (cursor: string | null) => string
  readonly cursor: string | null
  readonly isEmpty: (page: P) => boolean
  readonly everyMs: number
}

/** The page at the cursor, or the first behind it that has somebody: one request looks at so many only. */
export function useFirstFound<P extends { readonly next: string | null }>(search: Search<P>): Polled<P> {
  const { pathOf, cursor, isEmpty, everyMs } = search
  const asked = pathOf(cursor)
  const [place, setPlace] = useState<Place>({ asked, path: asked, passed: 0 })
  const here = place.asked === asked ? place : { asked, path: asked, passed: 0 }
  const poll = usePoll<P>(here.path, everyMs)
  const next = poll.data !== null && isEmpty(poll.data) ? poll.data.next : null
  const further = next === null || here.passed >= MOST_EMPTY ? null : pathOf(next)
  const { passed } = here
  useEffect(() => {
    if (further !== null) setPlace({ asked, path: further, passed: passed + 1 })
  }, [asked, further, passed])
  return poll
}
