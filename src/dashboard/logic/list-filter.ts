import type { Fields } from './location.ts'

/** Which users or organisations a list shows. Fields of the address have the names of the API's parameters. Pure. */

export type Kind = 'users' | 'organisations'

export const FLAGS = ['near', 'refused', 'blocked', 'override', 'exempt', 'shadow'] as const
export type Flag = (typeof FLAGS)[number]

/** A missing member does not filter. */
export type ListFilter = { readonly [K in Flag]?: 'true' } & { readonly plan?: string }

/** Organisations are never exempt, and have no shadow mode of their own. */
export function flagsOf(kind: Kind): readonly Flag[] {
  return FLAGS.filter((flag) => kind === 'users' || (flag !== 'shadow' && flag !== 'exempt'))
}

/** @param plans of the configuration; `null` while unknown. Any other plan is ignored, because it may have been removed */
export function filterOf(fields: Fields, kind: Kind, plans: readonly string[] | null): ListFilter {
  const { plan } = fields
  const flags = flagsOf(kind).filter((flag) => fields[flag] === 'true')
  const isKnown = plan !== undefined && plan !== '' && (plans === null || plans.includes(plan))
  return { ...Object.fromEntries(flags.map((flag) => [flag, 'true'])), ...(isKnown && { plan }) }
}

/** How many rows a page has. */
export const A_PAGE = 25

/** How many rows come before the page, from the address. Any other text means the first page. */
export function offsetOf({ cursor = '' }: Fields): number {
  return /^\d{1,6}$/.test(cursor) ? Number(cursor) : 0
}

/** The offset of the last page if none of the rows is so far down, as behind an old link; otherwise the same offset. */
export function offsetWithin(offset: number, total: number): number {
  return offset < total ? offset : Math.max(0, Math.ceil(total / A_PAGE) - 1) * A_PAGE
}

/** The offsets of the previous and the next page; `null` where there is none. */
export function pagesBeside(
  offset: number,
  total: number,
): { readonly before: number | null; readonly behind: number | null } {
  return {
    before: offset === 0 ? null : Math.max(0, offset - A_PAGE),
    behind: offset + A_PAGE < total ? offset + A_PAGE : null,
  }
}
