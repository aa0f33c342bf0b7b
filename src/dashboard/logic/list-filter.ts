import type { Fields } from './location.ts'

/** Which users or organisations a list shows. The fields of the address have the names of the API's parameters. Pure. */

export type Kind = 'users' | 'organisations'

export const FLAGS = ['near', 'refused', 'blocked', 'override', 'exempt', 'shadow'] as const
export type Flag = (typeof FLAGS)[number]

/** What is not asked for is not in it. */
export type ListFilter = { readonly [K in Flag]?: 'true' } & { readonly plan?: string }

/** Of an organisation nothing is exempt, and none has a shadow of its own. */
export function flagsOf(kind: Kind): readonly Flag[] {
  return FLAGS.filter((flag) => kind === 'users' || (flag !== 'shadow' && flag !== 'exempt'))
}

/**
 * @param plans of the configuration; `null` as long as nobody knows them. Another plan is none: it may be gone since the address was
 *   written
 */
export function filterOf(fields: Fields, kind: Kind, plans: readonly string[] | null): ListFilter {
  const { plan } = fields
  const flags = flagsOf(kind).filter((flag) => fields[flag] === 'true')
  const isKnown = plan !== undefined && plan !== '' && (plans === null || plans.includes(plan))
  return { ...Object.fromEntries(flags.map((flag) => [flag, 'true'])), ...(isKnown && { plan }) }
}

/** Rows of a page. */
export const A_PAGE = 25

/** How many stand before the page, as the address has it; anything else is the first page. */
export function offsetOf({ cursor = '' }: Fields): number {
  return /^\d{1,6}$/.test(cursor) ? Number(cursor) : 0
}

/** The cursors of the pages beside one, which `next` leads on from: `null` at the ends, and for the first page no field. */
export function pagesBeside(
  offset: number,
  total: number,
): { readonly before: string | null; readonly behind: string | null } {
  return {
    before: offset === 0 ? null : String(Math.max(0, offset - A_PAGE)),
    behind: offset + A_PAGE < total ? String(offset + A_PAGE) : null,
  }
}
