import type { OverrideBody } from '../../contract/api.ts'
import type { ValueTable } from '../../quota/limit-value.ts'
import { multiplied } from '../../quota/multiplied.ts'
import { inOneList } from './by-category.ts'
import { flatOf, forOrganisation, type Overridable, SCOPE_OF } from './override.ts'
import { isSameOverride, lying } from './override-layers.ts'

/** Overrides that a single button makes, on top of what is set. Pure. */

export type QuickKind = 'half' | 'double' | 'block'

export const FACTORS = { half: 1.5, double: 2, block: 0 } as const

/**
 * The body that multiplies what is in force. With an end it is a layer with only the factor. Without an end it replaces what is
 * set, but keeps the limits and multiplies them. Shadow mode ends if somebody is to be blocked.
 * @param expiresAt in ISO 8601; `null` for never
 */
export function quickBody(
  of: Overridable,
  kind: QuickKind,
  { reason, expiresAt }: { readonly reason: string; readonly expiresAt: string | null },
): OverrideBody {
  const factor = FACTORS[kind]
  if (expiresAt !== null) return { factor, reason, expiresAt }
  const before = (flatOf(of.override) ?? {}) as OverrideBody
  const product = Number((factor * (before.factor ?? 1)).toFixed(3))
  const body = { ...before, factor: product, ...(kind === 'block' && { shadow: false }), reason, expiresAt }
  return of.kind === 'user' ? body : forOrganisation(body)
}

/** A limit in the dialog. It has a plan if members of an organisation have different limits. */
export interface QuickLine {
  readonly category: string
  readonly window: string
  readonly plan: string | null
  readonly from: number
  readonly to: number
}

/** What happens to each limit. The same factor again only moves the end. */
export function quickLines(of: Overridable, kind: QuickKind): readonly QuickLine[] {
  const factor = isOnTop(of, kind) ? 1 : FACTORS[kind]
  const lines = inOneList(of.windows).flatMap(({ category, scope, window, limit, byPlan = {} }) => {
    if (scope !== SCOPE_OF[of.kind]) return []
    const isSet = of.override?.limits[category]?.[window] !== undefined
    const plans = of.kind === 'organisation' && !isSet ? Object.entries(byPlan) : [[null, limit] as const]
    return plans.map(([plan, own]) => {
      const now = own !== null && plan !== null ? multiplied(own, of.override?.factor ?? 1) : own
      return { category, window, plan, from: now, to: now === null ? null : multiplied(now, factor) }
    })
  })
  return lines.filter((line): line is QuickLine => line.from !== null)
}

function isOnTop({ override }: Overridable, kind: QuickKind): boolean {
  const [top] = lying(override)
  return top !== undefined && top.until !== null && isSameOverride({ factor: FACTORS[kind], reason: '' }, top.value)
}

/** Whether any limit can be raised. */
export function canRaise(of: Overridable): boolean {
  return quickLines(of, 'double').some(({ from }) => from > 0)
}

/**
 * Whether an override blocks everything that costs tokens, by its factor or because it sets the limit of each own window to 0.
 * @param windows by category; for an organisation without a scope
 */
export function isBlock(
  override: {
    readonly factor?: number | undefined
    readonly limits: ValueTable
  } | null,
  windows: Readonly<
    Record<string, readonly { readonly window: string; readonly scope?: string; readonly limit: number | null }[]>
  >,
): boolean {
  if (override === null) return false
  if (override.factor === 0) return true
  const own = inOneList(windows).filter(({ scope = 'Personal', limit }) => scope === 'Personal' && limit !== null)
  return own.length > 0 && own.every(({ category, window }) => override.limits[category]?.[window] === 0)
}
