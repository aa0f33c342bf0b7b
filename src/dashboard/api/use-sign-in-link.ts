import { useCallback, useEffect, useEffectEvent, useState } from 'react'
import { hashOf } from '../logic/location.ts'
import { type SignInAddress, signInAddress } from '../logic/sign-in-link.ts'

export interface SignInLink {
  /** Whether a sign-in link was opened, and it is not known yet who is signed in by it. */
  readonly isOpening: boolean
  /** Why the last link signed nobody in; `null` if it succeeded, or if there was none. */
  readonly error: Error | null
  /** Forgets the error, because somebody is signed in or tries another way. */
  readonly dismiss: () => void
}

/** The key in the session storage that keeps the place while the browser is at the provider. */
const LEFT = 'tollgate.left'

/** Leaves for a provider. The way back leads to the present place. */
export function leaveFor(provider: string): void {
  sessionStorage.setItem(LEFT, location.hash)
  location.assign(provider)
}

function placeLeft(): string {
  const place = sessionStorage.getItem(LEFT) ?? ''
  sessionStorage.removeItem(LEFT)
  return place.startsWith('#/') ? place : hashOf('overview')
}

/**
 * Signs in with a link in the address, even if it is entered while the page is open, or with the result of a provider. The link or the
 * result is first removed from the address, so that it cannot be seen, bookmarked or sent again by a reload.
 */
export function useSignInLink(signIn: (by: SignInAddress) => Promise<void>): SignInLink {
  const [isOpening, setOpening] = useState(() => signInAddress(location) !== null)
  const [error, setError] = useState<Error | null>(null)

  const follow = useEffectEvent(async (): Promise<void> => {
    const by = signInAddress(location)
    if (by === null) return
    history.replaceState(null, '', 'returned' in by ? `/${placeLeft()}` : hashOf('overview'))
    // Replacing the address fires no event by itself.
    window.dispatchEvent(new HashChangeEvent('hashchange'))
    setOpening(true)
    setError(null)
    await signIn(by).catch(setError)
    setOpening(false)
  })
  useEffect(() => {
    const listen = () => void follow()
    listen()
    window.addEventListener('hashchange', listen)
    return () => window.removeEventListener('hashchange', listen)
  }, [])
  const dismiss = useCallback(() => setError(null), [])
  return { isOpening, error, dismiss }
}
