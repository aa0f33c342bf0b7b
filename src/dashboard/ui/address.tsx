import { useEffect, useState } from 'react'
import { type Fields, hashOf, type Place, placeOf } from '../logic/location.ts'

/** The place that the address names, as it changes. */
export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const follow = () => setHash(location.hash)
    window.addEventListener('hashchange', follow)
    return () => window.removeEventListener('hashchange', follow)
  }, [])
  return placeOf(hash)
}

type Changes = Readonly<Record<string, string | null>>

/**
 * What is looked for on this page, kept in the address: so it is there again after a reload, behind Back, and for whom the address is sent to.
 * @returns the fields, and a function that changes some of them; `null` takes one away. A change replaces the place in the history of the browser, so that Back
 *   leaves the page; `isStep` makes it a place of its own
 */
export function useFields(): [Fields, (changes: Changes, isStep?: boolean) => void] {
  const { fields } = usePlace()
  return [fields, changeFields]
}

function changeFields(changes: Changes, isStep = false): void {
  const { page, rest, fields } = placeOf(location.hash)
  const wanted = Object.entries({ ...fields, ...changes }).filter(([, value]) => value !== null && value !== '')
  const hash = hashOf(page, rest, Object.fromEntries(wanted) as Fields)
  if (hash === location.hash) return
  if (isStep) location.hash = hash
  else history.replaceState(null, '', hash)
  // Replacing makes no event of its own.
  if (!isStep) window.dispatchEvent(new HashChangeEvent('hashchange'))
}
