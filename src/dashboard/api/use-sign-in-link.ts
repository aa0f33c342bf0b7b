import { useCallback, useEffect, useEffectEvent, useState } from 'react'
import { hashOf } from '../logic/location.ts'
import { codeOf } from '../logic/sign-in-link.ts'

export interface SignInLink {
  /** Whether the page was opened by a link, or a link was entered, and whom it signs in is not known yet. */
  readonly isOpening: boolean
  /** Why the last link signed nobody in; `null` if it did, or there was none. */
  readonly error: Error | null
  /** Nothing more is said of the link: the token is tried. */
  readonly dismiss: () => void
}

/**
 * Signs in by the link that is in the address, also by one that is entered while the page is open. Its code is taken out of the
 * address before anything is sent: it is not to be seen, kept as a bookmark or sent again by a reload.
 */
export function useSignInLink(signIn: (code: string) => Promise<void>): SignInLink {
  const [isOpening, setOpening] = useState(() => codeOf(location.hash) !== null)
  const [error, setError] = useState<Error | null>(null)

  const follow = useEffectEvent(async (): Promise<void> => {
    const code = codeOf(location.hash)
    if (code === null) return
    history.replaceState(null, '', hashOf('overview'))
    // Replacing makes no event of its own.
    window.dispatchEvent(new HashChangeEvent('hashchange'))
    setOpening(true)
    setError(null)
    await signIn(code).catch(setError)
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
