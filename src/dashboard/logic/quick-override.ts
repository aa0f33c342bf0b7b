import type { OverrideBody } from '../../admin/api.ts'
import { flatOf, forOrganisation, type Overridable, SCOPE_OF } from './override.ts'

/** Overrides that one button makes, on top of what is set. Pure. */

export type QuickKind = 'half' | 'double' | 'block'

const FACTORS = { half: 1.5, double: 2, block: 0 } as const

/**
 * The body that sets each own limit in force times a factor, or all of them to 0. A plan that was set and the way around the global
 * windows stay; shadow mode ends where somebody is to be blocked, since nothing would be refused.
 * @param expiresAt in ISO 8601; `null` for never
 */
export function quickBody(
  of: Overridable,
  kind: QuickKind,
  { reason, expiresAt }: { readonly reason: string; readonly expiresAt: string | null },
): OverrideBody {
  const before = (flatOf(of.override) ?? {}) as OverrideBody
  const others = Object.fromEntries(Object.entries(before).filter(([key]) => !(key in of.windows)))
  const body = { ...others, ...limitsOf(of, kind), ...(kind === 'block' && { shadow: false }), reason, expiresAt }
  return of.kind === 'user' ? body : forOrganisation(body)
}

function limitsOf({ kind, windows }: Overridable, what: QuickKind): Record<string, Record<string, number>> {
  const limits: Record<string, Record<string, number>> = {}
  for (const [category, list] of Object.entries(windows)) {
    const own = list.filter(({ scope }) => scope === SCOPE_OF[kind])
    const rows = own.flatMap(({ window, limit }) =>
      limit === null && what !== 'block' ? [] : [[window, Math.ceil((limit ?? 0) * FACTORS[what])] as const],
    )
    if (rows.length > 0) limits[category] = Object.fromEntries(rows)
  }
  return limits
}

/** Whether there is a limit that can be raised. */
export function canRaise(of: Overridable): boolean {
  return Object.values(limitsOf(of, 'double')).some((row) => Object.values(row).some((limit) => limit > 0))
}

/** Plans that set no limit where an override of the organisation is about to set one: their members are limited by it, too. */
export function newlyLimited(of: Overridable): readonly string[] {
  const limited = Object.values(of.windows).flatMap((list) => list.filter(({ limit }) => limit !== null))
  return [
    ...new Set(
      limited.flatMap(({ byPlan = {} }) =>
        Object.entries(byPlan).flatMap(([plan, limit]) => (limit === null ? plan : [])),
      ),
    ),
  ]
}

/**
 * Whether an override lets nothing pass that costs tokens: each own window that is shown has a limit of 0 by it.
 * @param windows by category; of an organisation without a scope
 */
export function isBlock(
  override: { readonly limits: Readonly<Record<string, Readonly<Record<string, number>>>> } | null,
  windows: Readonly<
    Record<string, readonly { readonly window: string; readonly scope?: string; readonly limit: number | null }[]>
  >,
): boolean {
  if (override === null) return false
  const own = Object.entries(windows).flatMap(([category, list]) =>
    list
      .filter(({ scope = 'Personal', limit }) => scope === 'Personal' && limit !== null)
      .map(({ window }) => [category, window] as const),
  )
  return own.length > 0 && own.every(([category, window]) => override.limits[category]?.[window] === 0)
}
