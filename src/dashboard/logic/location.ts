/**
 * A place in the dashboard is a page, the owner shown there, and the fields of its query: `#/users/alice`, `#/users?order=tokens&query=bo`.
 * It is in the hash, so that one file serves all pages.
 */

/** The overview, and then groups of pages by their purpose, in the order of the navigation. */
export const GROUPS = {
  traffic: ['errors', 'refusals', 'routes'],
  quota: ['limits', 'users', 'organisations', 'keys'],
  system: ['alerts', 'replicas', 'audit'],
} as const

export type Page = 'overview' | (typeof GROUPS)[keyof typeof GROUPS][number]
export const PAGES: readonly Page[] = ['overview', ...Object.values(GROUPS).flat()]

/** The pages of a lead, who sees one organisation. */
export const LEADS_PAGES = ['organisations', 'refusals', 'keys'] as const satisfies Page[]

/** The place that is shown to a lead: for a page that a lead may not see, the lead's organisation. @param organisation of the lead */
export function leadsPlace(place: Place, organisation: string): Place {
  const isMember = place.page === 'users' && place.rest !== null
  if (isMember || place.page === 'refusals' || place.page === 'keys') return place
  return { ...place, page: 'organisations', rest: organisation }
}

export interface Place {
  readonly page: Page
  /** The decoded text after the page: the id of a user or an organisation. */
  readonly rest: string | null
  readonly fields: Fields
}

/** The fields of the query in the address by name, such as a search, an order or a range. A missing field has its default. */
export type Fields = Readonly<Record<string, string>>

/** Changes of the fields; `null` removes a field. */
export type Changes = Readonly<Record<string, string | null>>

/** The fields after some changes. */
export function changed(fields: Fields, changes: Changes): Fields {
  const wanted = Object.entries({ ...fields, ...changes }).filter(([, value]) => value !== null && value !== '')
  return Object.fromEntries(wanted) as Fields
}

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

/** A query of the API, without empty parts. */
export function queryOf(parts: Readonly<Record<string, string>>): string {
  return new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== '')).toString()
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
