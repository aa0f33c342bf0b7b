import { useEffect, useRef } from 'react'
import { useKept } from './kept-state.tsx'

/**
 * Keeps how far a page is scrolled under its address, and scrolls there again when one comes back to it. Another place of the page begins
 * at its top.
 * @param isReady whether the page has what it is as long as before by
 */
export function useScrolled(isReady: boolean): void {
  const { hash } = location
  const [kept, keep] = useKept(`scrolled ${hash}`, 0)
  const wanted = useRef({ hash, top: kept })
  if (wanted.current.hash !== hash) wanted.current = { hash, top: 0 }
  useEffect(() => {
    const note = () => {
      if (location.hash === hash) keep(() => window.scrollY)
    }
    document.addEventListener('scrollend', note)
    return () => document.removeEventListener('scrollend', note)
  })
  useEffect(() => {
    const { top } = wanted.current
    if (!isReady || top === 0) return
    // Behind the turn to the top that every new place begins with.
    const frame = requestAnimationFrame(() => {
      window.scrollTo(0, top)
      wanted.current.top = 0
    })
    return () => cancelAnimationFrame(frame)
  }, [isReady])
}
