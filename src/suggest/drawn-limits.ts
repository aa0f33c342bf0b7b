import type { SuggestedLimit, SuggestedRoute } from './draft.ts'
import { FEW, type Margin, percentileOf, roundedUp } from './limits.ts'
import { type Peaks, WINDOWS } from './peaks.ts'

/** A day counts as so many hours where the logs are shorter than a day. */
const HOURS_OF_A_DAY = 10
const SCOPES = ['personal', 'global'] as const

export interface Basis {
  readonly routes: readonly SuggestedRoute[]
  readonly peaks: Peaks
  /** The time from the first request to the last one, in milliseconds. */
  readonly spanMs: number
  readonly margin: Margin
}

/** The limits of all categories that routes have. */
export function drawnLimits(basis: Basis): SuggestedLimit[] {
  const categories = categoriesOf(basis.routes).sort()
  const all = categories.map((category) => drawnLimitsOf(category, basis))
  return SCOPES.flatMap((scope) => all.flat().filter((limit) => limit.scope === scope))
}

/** The same limit everywhere, for a replay in which nothing is refused. */
export function sameLimits(routes: readonly SuggestedRoute[], limit: number): SuggestedLimit[] {
  return SCOPES.flatMap((scope) =>
    categoriesOf(routes).flatMap((category) =>
      WINDOWS.map(({ name }) => ({ scope, category, window: name, limit, why: '' })),
    ),
  )
}

/** The category and the cost of a request that no rule matches. */
export const UNMATCHED = { category: 'read', cost: 1 } as const

/** Public rules charge nothing, so their categories are left out. */
function categoriesOf(routes: readonly SuggestedRoute[]): string[] {
  const charged = routes.filter(({ isPublic }) => !isPublic).map(({ category }) => category)
  return [...new Set([...charged, UNMATCHED.category])]
}

function drawnLimitsOf(category: string, { routes, peaks, spanMs, margin }: Basis): SuggestedLimit[] {
  const costs = routes.filter((route) => route.category === category).map(({ cost }) => cost)
  const dearest = Math.max(UNMATCHED.cost, ...costs)
  const limits: SuggestedLimit[] = []
  /** The limits of the window before. */
  let shorter = { personal: dearest, global: dearest }
  for (const [i, { name: window, ms }] of WINDOWS.entries()) {
    const users = peaks.ofUsers(category, i)
    const covered = percentileOf(users, margin.percentile)
    const most = peaks.ofAll(category, i)
    const isShort = i > 0 && spanMs < ms
    const personal = limitOf(covered, shorter.personal, isShort, margin)
    const global = Math.max(FEW * personal, limitOf(most, shorter.global, isShort, margin))
    const guess = `the logs are shorter: ${HOURS_OF_A_DAY} times ${WINDOWS[0].name}`
    const ofAll = `all together used ${most}${global === FEW * personal ? `, and this is ${FEW} times personal` : ''}`
    limits.push(
      { scope: 'personal', category, window, limit: personal, why: isShort ? guess : whyOf(covered, users, margin) },
      { scope: 'global', category, window, limit: global, why: isShort ? guess : ofAll },
    )
    shorter = { personal, global }
  }
  return limits
}

/** The limit is never below that of a shorter window, nor below the dearest request. */
function limitOf(used: number, shorter: number, isShort: boolean, { headroom }: Margin): number {
  return Math.max(shorter, roundedUp(isShort ? shorter * HOURS_OF_A_DAY : used * headroom))
}

function whyOf(covered: number, users: readonly number[], { percentile }: Margin): string {
  return `${percentile} % of ${users.length} users stayed within ${covered}, the busiest used ${users.at(-1) ?? 0}`
}
