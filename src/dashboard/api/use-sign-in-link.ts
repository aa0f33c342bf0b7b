import { useCallback, useEffect, useEffectEvent, useState } from 'react'
import { hashOf } from '../logic/location.ts'
import { type SignInAddress, signInAddress } from '../logic/sign-in-link.ts'

export interface SignInLink {
  /** Whether the page was opened by a link, or a link was entered, and it is not known yet who is signed in by it. */
  readonly isOpening: boolean
  /** Why the last link signed nobody in; `null` if it did, or there was none. */
  readonly error: Error | null
  /** Nothing more is said of the link: the token is tried. */
  readonly dismiss: () => void
}

/** Where the page was when it went to the provider, for as long as it is there. */
const LEFT = 'tollgate.left'

/** Leaves for a provider, to come back to this place. */
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
 * Signs in by the link that is in the address, also by one that is entered while the page is open, and by what a provider put there.
 * It is taken out of the address before anything is sent: it is not to be seen, kept as a bookmark or sent again by a reload.
 */
export function useSignInLink(signIn: (by: SignInAddress) => Promise<void>): SignInLink {
  const [isOpening, setOpening] = useState(() => signInAddress(location) !== null)
  const [error, setError] = useState<Error | null>(null)

  const follow = useEffectEvent(async (): Promise<void> => {
    const by = signInAddress(location)
    if (by === null) return
    history.replaceState(null, '', 'returned' in by ? `/${placeLeft()}` : hashOf('overview'))
    // Replacing makes no event of its own.
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
