/** The code of a sign-in link, `#/sign-in?code=…`; `null` if the address is none. */
export function codeOf(hash: string): string | null {
  const [, query] = /^#\/sign-in\?(.*)$/s.exec(hash) ?? []
  return new URLSearchParams(query).get('code') || null
}
