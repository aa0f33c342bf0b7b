/** The sign-in in an address. */
export type SignInAddress =
  | { readonly code: string }
  /** The query with which a provider sent the browser back. */
  | { readonly returned: string }

/** The code of a sign-in link, `#/sign-in?code=…`, or the result of a provider, `/sign-in?code=…`; `null` for any other address. */
export function signInAddress({
  pathname,
  search,
  hash,
}: Pick<Location, 'pathname' | 'search' | 'hash'>): SignInAddress | null {
  if (pathname === '/sign-in' && search.length > 1) return { returned: search.slice(1) }
  const [, query] = /^#\/sign-in\?(.*)$/s.exec(hash) ?? []
  const code = new URLSearchParams(query).get('code')
  return code ? { code } : null
}
