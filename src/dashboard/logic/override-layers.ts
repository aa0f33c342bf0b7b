import type { LayerResponse, OverrideBody, OverrideResponse, UserResponse } from '../../contract/api.ts'

/** What was set over time for one user or organisation, in layers. Pure. */

/** The content of one override, without its end. */
export type OverrideValue = Partial<
  Pick<OverrideResponse, 'limits' | 'factor' | 'periodDay' | 'plan' | 'within' | 'bypassGlobal' | 'shadow' | 'reason'>
>

/** One layer of an override, with the end and the author of this layer. */
export interface Lying extends Omit<LayerResponse, 'value'> {
  readonly value: OverrideValue
}

/** The layers of an override, newest first. An override without layers counts as one. */
export function lying(override: OverrideResponse | null): readonly Lying[] {
  if (override === null) return []
  const { layers, version: _, expiresAt, ...value } = override
  if (layers !== undefined) return layers as readonly Lying[]
  const about = { id: 'alone', from: null, state: 'in_force', who: null, why: value.reason } as const
  return [{ ...about, until: expiresAt, value }]
}

/** Whether a layer only sets a factor, which multiplies what is below it. */
export function isFactor({ factor, limits = {}, periodDay, plan, bypassGlobal, shadow }: OverrideValue): boolean {
  const isAlone = periodDay === undefined && plan === undefined && bypassGlobal !== true && shadow !== true
  return factor !== undefined && isAlone && Object.keys(limits).length === 0
}

/** The uppermost override as it was set, without the values that it multiplies. */
export function topOf(override: OverrideResponse | null): OverrideResponse | null {
  const top = lying(override)[0]
  if (override === null || top === undefined) return null
  const { limits = {}, bypassGlobal = false, shadow = false, reason = top.why ?? '' } = top.value
  const { factor, periodDay, plan, within } = top.value
  return {
    version: override.version,
    limits,
    ...(factor !== undefined && { factor }),
    ...(periodDay !== undefined && { periodDay }),
    ...(plan !== undefined && { plan }),
    ...(within !== undefined && { within }),
    ...{ bypassGlobal, shadow, reason, expiresAt: top.until },
  }
}

/** What will be in force at a moment, down to the first layer that hides others. @param at milliseconds since the epoch */
export function followsAt(override: OverrideResponse | null, at: number): readonly Lying[] {
  const live = lying(override).filter(({ until }) => until === null || Date.parse(until) > at)
  const hiding = live.findIndex((one) => one.until === null || !isFactor(one.value))
  return hiding === -1 ? live : live.slice(0, hiding + 1)
}

/** What a change does to ends, in ISO 8601. */
export type EndNote =
  /** `next` is in force after the end; empty if nothing is. */
  | { readonly kind: 'added'; readonly at: string; readonly next: readonly Lying[] }
  /** The same values are set already, and only their end moves. */
  | { readonly kind: 'moved'; readonly from: string; readonly at: string; readonly next: readonly Lying[] }
  | { readonly kind: 'dropped'; readonly id: string; readonly at: string; readonly why: string }

/** What a new override does to the ends of those that are set. @param body `null` removes all of them */
export function endsUnder(override: OverrideResponse | null, body: OverrideBody | null): readonly EndNote[] {
  const [top, ...others] = lying(override)
  if (body === null || body.expiresAt == null) {
    return lying(override).flatMap(({ id, until, why }): EndNote[] =>
      until === null ? [] : [{ kind: 'dropped', id, at: until, why: why ?? '' }],
    )
  }
  const at = body.expiresAt
  const isSame = top !== undefined && top.until !== null && isSameOverride(body, top.value)
  if (!isSame || top.until === null) return [{ kind: 'added', at, next: followsAt(override, Date.parse(at)) }]
  if (Date.parse(top.until) === Date.parse(at)) return []
  const under = override === null || others.length === 0 ? null : { ...override, layers: others as LayerResponse[] }
  return [{ kind: 'moved', from: top.until, at, next: followsAt(under, Date.parse(at)) }]
}

/**
 * What comes back when an override ends: `day` is the day with which months then begin, `null` if unknown and absent if the day stays.
 * `isPlan` says whether the plan is the credential's again.
 */
export function comesBackBehind(
  { periodDay: set, plan, expiresAt }: OverrideBody,
  { override, periodDay }: Pick<UserResponse, 'override' | 'periodDay'>,
): { readonly day?: number | null; readonly isPlan: boolean } {
  if (expiresAt == null) return { isPlan: false }
  const next = followsAt(override, Date.parse(expiresAt))
  const isLast = (field: 'periodDay' | 'plan') => next.every(({ value }) => value[field] === undefined)
  const isPlan = plan != null && isLast('plan')
  if (set == null || !isLast('periodDay')) return { isPlan }
  return { day: periodDay === undefined ? 1 : periodDay.from === 'override' ? null : periodDay.day, isPlan }
}

/** Like `isFactor`, for a body of the API. */
export function setsFactorAlone({ factor, ...others }: OverrideBody): boolean {
  return factor != null && plain(others) === '[]'
}

/** Whether a body sets the same values as a layer, apart from reason and end. */
export function isSameOverride(body: OverrideBody, value: OverrideValue): boolean {
  const { limits = {}, reason: _, ...others } = value
  return plain(body) === plain({ ...limits, ...others } as OverrideBody)
}

/** A comparable text of what a body sets. A value that is off or not set is left out, and so are empty limits. */
function plain({ reason: _, expiresAt: __, ...fields }: Partial<OverrideBody>): string {
  const rows = Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
    if (value === null || value === undefined || value === false) return []
    if (typeof value !== 'object') return [[name, value]]
    const row = Object.entries(value).filter(([, limit]) => limit !== null)
    return row.length === 0 ? [] : [[name, row.sort(([a], [b]) => (a < b ? -1 : 1))]]
  })
  return JSON.stringify(rows.sort(([a], [b]) => (a < b ? -1 : 1)))
}
