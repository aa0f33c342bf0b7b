/** Which page the address names: `#/users/alice`. In the hash, so that one file serves all of them. */

export const PAGES = ['now', 'quotas', 'users', 'organisations', 'tokens', 'routes', 'audit'] as const
export type Page = (typeof PAGES)[number]

export interface Place {
  readonly page: Page
  /** What follows the page, decoded: the id of a user or an organisation. */
  readonly rest: string | null
}

export function placeOf(hash: string): Place {
  const [, name = '', rest] = /^#\/([^/]*)(?:\/(.+))?$/s.exec(hash) ?? []
  const page = PAGES.find((known) => known === name) ?? 'now'
  return { page, rest: rest === undefined ? null : decoded(rest) }
}

export function hashOf(page: Page, rest?: string): string {
  return rest === undefined ? `#/${page}` : `#/${page}/${encodeURIComponent(rest)}`
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
