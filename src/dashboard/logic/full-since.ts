import type { RefusalsResponse, WindowResponse } from '../../contract/api.ts'

/** Since when a shared window refuses, from the latest refusals. Pure. */

export type RefusalPage = Pick<RefusalsResponse, 'refusals' | 'next'>

/**
 * @param page the latest refusals, latest first; `null` if unknown
 * @returns when the window first refused somebody in this run, in ISO 8601; `null` if it refused nobody, or if earlier refusals may be
 * missing
 */
export function refusedSince(
  page: RefusalPage | null,
  category: string,
  { window, startedAt }: Pick<WindowResponse, 'window' | 'startedAt'>,
): string | null {
  if (page === null || startedAt === null) return null
  const oldest = page.refusals.at(-1)
  if (page.next !== null && oldest !== undefined && oldest.last >= startedAt) return null
  const firsts = page.refusals
    .filter((each) => each.scope === 'Global' && each.category === category && each.window === window)
    .filter((each) => each.startedAt === startedAt)
    .map(({ first }) => first)
  return firsts.sort()[0] ?? null
}
