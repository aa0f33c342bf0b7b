import { useSyncExternalStore } from 'react'
import { type Changes, changed, type Fields, hashOf, type Place, placeOf } from '../logic/location.ts'
import { rangeFields, usualRange } from '../logic/range.ts'

/** The last chosen range, which goes along to each place whose address names none. A link with a range only applies to its own page. */
let carried = rangeFields(placeOf(location.hash).fields)

/** The history's entries by their position: what each names, and how far down it was scrolled. */
const entries = new Map<number, { readonly hash: string; readonly top: number }>()
let entry = numberOf(history.state) ?? 0

/** The number that the state of a history entry holds; `undefined` for an entry that was never visited. */
function numberOf(state: unknown): number | undefined {
  return typeof state === 'number' ? state : undefined
}

/** Records what the present entry names. @param top how far down it is scrolled, in pixels */
function note(top: number): void {
  entries.set(entry, { hash: location.hash, top })
}

/** How far down this place was scrolled when it was left, in pixels; 0 on the first visit. */
export function leftAt(): number {
  return entries.get(entry)?.top ?? 0
}

/** Goes back, to where the page was scrolled, if the previous place is the wanted one. @returns whether it goes back */
export function goBackTo(hash: string): boolean {
  if (entries.get(entry - 1)?.hash !== hash) return false
  history.back()
  return true
}

history.scrollRestoration = 'manual'
window.addEventListener('scroll', () => note(window.scrollY), { passive: true })

// Registered before all other listeners.
window.addEventListener('hashchange', () => {
  const known = numberOf(history.state)
  const isVisitedBefore = known !== undefined && known !== entry
  entry = known ?? entry + 1
  history.replaceState(entry, '')
  const place = placeOf(location.hash)
  const { page, rest, fields } = place
  if (fields.range !== undefined || fields.from !== undefined) {
    if (isVisitedBefore) carried = rangeFields(fields)
  } else if (usualRange(place) !== null && location.hash.startsWith(hashOf(page, rest))) {
    const hash = hashOf(page, rest, { ...fields, ...carried })
    if (Object.keys(carried).length > 0) replaceAddress(hash)
  }
  note(known === undefined ? 0 : leftAt())
})

history.replaceState(entry, '')
note(0)

/** Replaces the address. The history entry keeps its state. */
function replaceAddress(hash: string): void {
  history.replaceState(history.state, '', hash)
}

/** The place in the address, as it changes. */
export function usePlace(): Place {
  return placeOf(useSyncExternalStore(follow, () => location.hash))
}

function follow(watcher: () => void): () => void {
  window.addEventListener('hashchange', watcher)
  return () => window.removeEventListener('hashchange', watcher)
}

/** The fields of the address: searches, order, range and the like. They survive a reload and Back, and a sent link contains them. */
export function useFields(): Fields {
  return usePlace().fields
}

/** Changes a search, and shows the first page of its results. */
export function lookFor(changes: Changes): void {
  changeFields({ ...changes, cursor: null, before: null })
}

/**
 * Changes some fields of the address; `null` removes a field. A change replaces the place in the history of the browser, so that Back leaves
 * the page. With `isStep` it gets a place of its own, and Back returns to the place before.
 */
export function changeFields(changes: Changes, isStep = false): void {
  const { page, rest, fields } = placeOf(location.hash)
  const next = changed(fields, changes)
  const hash = hashOf(page, rest, next)
  if (hash === location.hash) return
  const range = rangeFields(next)
  if (JSON.stringify(range) !== JSON.stringify(rangeFields(fields))) carried = range
  if (isStep) location.hash = hash
  else replaceAddress(hash)
  // Replacing the address fires no event by itself.
  if (!isStep) window.dispatchEvent(new HashChangeEvent('hashchange'))
}
