import { useEffect } from 'react'
import type { NowResponse } from '../../contract/api.ts'
import { KEPT, type Left, leftBetween } from '../logic/rates.ts'
import { useKept } from './kept-state.tsx'

/** The results of `/api/now` since the page was loaded. */
export interface Looks {
  /** The latest 90 results, oldest first. Those while the store is out are left out. */
  readonly looks: readonly NowResponse[]
  /** Replicas that are gone, latest first, at most 10. */
  readonly left: readonly Left[]
}

const LEFT_KEPT = 10

const NONE: Looks = { looks: [], left: [] }

/** Adds a result, and returns all that are kept, even from earlier visits of the page. @param now `null` until there is a result */
export function useLooks(now: NowResponse | null): Looks {
  const [seen, change] = useKept('looks', NONE)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new result is added
  useEffect(() => {
    if (now?.store.answers) change((before) => withLook(before, now))
  }, [now])
  return seen
}

function withLook({ looks, left }: Looks, now: NowResponse): Looks {
  const last = looks.at(-1)
  if (last === now) return { looks, left }
  // While the store is out no replica can be missing.
  const gone = last === undefined ? [] : leftBetween(last, now)
  return { looks: [...looks, now].slice(-KEPT), left: [...gone, ...left].slice(0, LEFT_KEPT) }
}
