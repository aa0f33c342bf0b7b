/**
 * Where one is: a page, who or what is shown there, and what is looked for: `#/users/alice`, `#/users?order=tokens&query=bo`. It is in the hash,
 * so that one file serves all pages.
 */

/** In the order of the navigation. */
export const PAGES = [
  'overview',
  'limits',
  'errors',
  'users',
  'organisations',
  'refusals',
  'routes',
  'keys',
  'replicas',
  'audit',
] as const
export type Page = (typeof PAGES)[number]

export interface Place {
  readonly page: Page
  /** What follows the page, decoded: the id of a user or an organisation. */
  readonly rest: string | null
  readonly fields: Fields
}

/** What is looked for on the page, by name. What is not there has its default. */
export type Fields = Readonly<Record<string, string>>

export function placeOf(hash: string): Place {
  const [, name = '', rest, query = ''] = /^#\/([^/?]*)(?:\/([^?]+))?(?:\?(.*))?$/s.exec(hash) ?? []
  const page = PAGES.find((known) => known === name) ?? 'overview'
  return {
    page,
    rest: rest === undefined ? null : decoded(rest),
    fields: Object.fromEntries(new URLSearchParams(query)),
  }
}

export function hashOf(page: Page, rest?: string | null, fields: Fields = {}): string {
  const query = new URLSearchParams(fields).toString()
  return `#/${page}${rest == null ? '' : `/${encodeURIComponent(rest)}`}${query === '' ? '' : `?${query}`}`
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
