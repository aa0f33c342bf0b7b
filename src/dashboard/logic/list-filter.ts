import type { Fields } from './location.ts'

/** Which users or organisations a list shows. The fields of the address have the names of the API's parameters. Pure. */

export const FLAGS = ['blocked', 'override', 'shadow'] as const
export type Flag = (typeof FLAGS)[number]

/** What is not asked for is not in it. */
export type ListFilter = { readonly [K in Flag]?: 'true' } & { readonly plan?: string }

/** Organisations have no shadow of their own. */
export function flagsOf(kind: 'users' | 'organisations'): readonly Flag[] {
  return FLAGS.filter((flag) => flag !== 'shadow' || kind === 'users')
}

/**
 * @param plans of the configuration; `null` as long as nobody knows them. Another plan is none: it may be gone since the address was
 *   written
 */
export function filterOf(fields: Fields, kind: 'users' | 'organisations', plans: readonly string[] | null): ListFilter {
  const { plan } = fields
  const flags = flagsOf(kind).filter((flag) => fields[flag] === 'true')
  const isKnown = plan !== undefined && plan !== '' && (plans === null || plans.includes(plan))
  return { ...Object.fromEntries(flags.map((flag) => [flag, 'true'])), ...(isKnown && { plan }) }
}

export function isFiltered(filter: ListFilter): boolean {
  return Object.keys(filter).length > 0
}

/** Whether the store looks at many others for it. An override is known without. */
export function isDear({ blocked, plan }: ListFilter): boolean {
  return blocked !== undefined || plan !== undefined
}

/** Over which time tokens and refusals are shown. `windows`: in the windows as they stand. */
export const LIST_RANGES = ['windows', '24h', '7d'] as const
export type ListRange = (typeof LIST_RANGES)[number]

/** @param text of the address; anything else is the last day */
export function listRangeOf(text: string | undefined): ListRange {
  return LIST_RANGES.find((range) => range === text) ?? '24h'
}
