import type { QuotaResponse } from '../../contract/api.ts'

/** What a line of the list of users says about its windows. */

export interface UsedWindow {
  readonly window: string
  readonly used: number
  /** `null` for none. */
  readonly limit: number | null
  /** Tokens that pass beyond it. Default none. */
  readonly over?: number | undefined
}

export interface FullestWindow extends UsedWindow {
  readonly category: string
}

type Windows = Readonly<Record<string, readonly UsedWindow[]>>

/**
 * Of each category the window that is nearest to its limit.
 * @param all also those of which nothing was used: a limit of 0 refuses before anything was
 */
export function fullestWindows(windows: Windows, all: boolean): readonly FullestWindow[] {
  return Object.entries(windows).flatMap(([category, list]) => {
    const shown = list.filter(({ used }) => used > 0 || all)
    const [fullest] = shown.toSorted((a, b) => partOf(b) - partOf(a))
    return fullest === undefined ? [] : [{ category, ...fullest }]
  })
}

function partOf({ used, limit }: UsedWindow): number {
  if (limit === null) return 0
  return limit > 0 ? used / limit : Number.POSITIVE_INFINITY
}

/** Tokens in the longest window of each category, together. Windows come from the shortest to the longest. */
export function longestTokens(windows: Windows): number {
  return Object.values(windows).reduce((sum, list) => sum + (list.at(-1)?.used ?? 0), 0)
}

export interface GlobalShare {
  /** 0 to 1, or more. */
  readonly share: number
  readonly category: string
  readonly window: string
}

/** The greatest part of a global limit that one has used, in the longest window of a category; `null` without global windows. */
export function globalShare(windows: Windows, quota: QuotaResponse | null): GlobalShare | null {
  const shares = Object.entries(quota?.windows ?? {}).flatMap(([category, list]) => {
    const longest = list.at(-1)
    const own = windows[category]?.find(({ window }) => window === longest?.window)
    if (longest === undefined || own === undefined || longest.limit === 0) return []
    return [{ share: own.used / longest.limit, category, window: longest.window }]
  })
  return shares.toSorted((a, b) => b.share - a.share)[0] ?? null
}
