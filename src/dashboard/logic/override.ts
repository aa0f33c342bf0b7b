import type {
  OrganisationOverrideBody,
  OrganisationOverrideResponse,
  OverrideBody,
  OverrideResponse,
  QuotaResponse,
  Scope,
  UserResponse,
} from '../../contract/api.ts'
import { isSoft, type LimitValue, limitFrom, limitText, NO_LIMIT } from '../../quota/limit-value.ts'
import { multiplied } from '../../quota/multiplied.ts'
import { lacksRoom } from '../../quota/window.ts'
import type { Problem, Problems } from '../i18n/en.ts'
import { inOneList } from './by-category.ts'
import { setsFactorAlone, topOf } from './override-layers.ts'
import { localIso } from './range.ts'

/** A window that an override can limit, with the limit in force; `null` for none. */
export interface OverridableWindow {
  readonly scope: Scope
  readonly window: string
  readonly used: number
  readonly limit: number | null
  /** When it ends, in ISO 8601; `null` if it does not run. Absent if unknown. */
  readonly resetAt?: string | null
  /** Tokens that pass beyond the limit. Default none. */
  readonly over?: number | undefined
  /** The limit without an override; `null` for none. Absent if the limit of everybody or of the user's plan applies. */
  readonly byDefault?: number | null
  /** For an organisation: what each configured plan sets, `null` if nothing. */
  readonly byPlan?: Readonly<Record<string, number | null>>
}

/** The owner of an override: a user, or an organisation, whose override sets no plan, no bypass and no shadow mode. */
export interface Overridable {
  readonly kind: 'user' | 'organisation'
  readonly id: string
  /** By category. */
  readonly windows: Readonly<Record<string, readonly OverridableWindow[]>>
  readonly override: OverrideResponse | null
  /** For a user, the plan in force. */
  readonly plan?: { readonly name: string | null } | undefined
  /** The first day of months, if one is set, and where it is set. */
  readonly periodDay?: UserResponse['periodDay']
}

/** The scope whose limits an override sets. */
export const SCOPE_OF = { user: 'Personal', organisation: 'Organisation' } as const

/** The form for an override, with everything as typed. */
export interface OverrideForm {
  /** By `category.window`; empty for the default. */
  readonly limits: Readonly<Record<string, string>>
  /** Multiplies the limits; empty for none. */
  readonly factor: string
  /** First day of months; empty for that of the credential, the plan or the window. */
  readonly periodDay: string
  /** Empty for the plan of the credential. */
  readonly plan: string
  readonly bypassGlobal: boolean
  readonly shadow: boolean
  readonly reason: string
  /** `null` until somebody chooses; until then `endOf` decides. */
  readonly expiry: Expiry | null
}

/** `never`, `keep` as it is, hours from now, the end of today, tomorrow or Friday, or a local time `2026-11-21T18:00`. */
export type Expiry =
  | { readonly kind: 'never' }
  | { readonly kind: 'keep'; readonly at: string }
  | { readonly kind: 'hours'; readonly hours: number }
  | { readonly kind: 'today' }
  | { readonly kind: 'tomorrow' }
  | { readonly kind: 'friday' }
  | { readonly kind: 'at'; readonly local: string }

export const PRESET_HOURS = [1, 24, 168, 720] as const

export const A_DAY: Expiry = { kind: 'hours', hours: 24 }
export const NEVER: Expiry = { kind: 'never' }

/**
 * When an override ends. If nobody chooses, a new one ends after a day, because one without an end would be forgotten. But a billing
 * day or a plan comes from a contract, and stays.
 */
export function endOf({ expiry, periodDay, plan }: Pick<OverrideForm, 'expiry' | 'periodDay' | 'plan'>): Expiry {
  return expiry ?? (periodDay.trim() === '' && plan === '' ? A_DAY : NEVER)
}

/** The form with the values of the uppermost override; empty for `null`. */
export function formOf(inForce: OverrideResponse | null): OverrideForm {
  const override = topOf(inForce)
  if (override === null)
    return {
      limits: {},
      factor: '',
      periodDay: '',
      plan: '',
      bypassGlobal: false,
      shadow: false,
      reason: '',
      expiry: null,
    }
  const { limits, factor, periodDay, plan = '', bypassGlobal, shadow, reason, expiresAt } = override
  const flat = Object.entries(limits).flatMap(([category, row]) =>
    Object.entries(row).map(([window, limit]) => [`${category}.${window}`, limitText(limit)] as const),
  )
  const expiry: Expiry = expiresAt === null ? NEVER : { kind: 'keep', at: expiresAt }
  return {
    limits: Object.fromEntries(flat),
    factor: factor === undefined ? '' : String(factor),
    periodDay: periodDay === undefined ? '' : String(periodDay),
    plan,
    bypassGlobal,
    shadow,
    reason,
    expiry,
  }
}

/** The form without limits for which the file has no category or window any more. They have no field, and the API refuses them. */
export function withFields(form: OverrideForm, { windows }: Pick<Overridable, 'windows'>): OverrideForm {
  const fields = new Set(inOneList(windows).map(({ category, window }) => `${category}.${window}`))
  return { ...form, limits: Object.fromEntries(Object.entries(form.limits).filter(([path]) => fields.has(path))) }
}

/** The form with the present values and the edits since it was sent; `null` if there are no such edits. */
export function editsSince(form: OverrideForm, sent: OverrideForm, set: OverrideForm): OverrideForm | null {
  const { limits: _, ...edits } = differing({ ...form }, { ...sent })
  // A form that was begun anew does not have the limits that were sent, so these are given up.
  const none = Object.fromEntries(Object.keys(sent.limits).map((path) => [path, '']))
  const limits = differing({ ...none, ...form.limits }, sent.limits)
  const isEdited = Object.keys(edits).length + Object.keys(limits).length > 0
  return isEdited ? { ...set, ...edits, limits: { ...set.limits, ...limits } } : null
}

/** Whether the present override has the values that were sent. */
export function isSet(sent: OverrideBody, override: OverrideResponse | null): boolean {
  if (override === null) return false
  const { plan, factor, periodDay, bypassGlobal = false, shadow = false, reason, expiresAt = null, ...limits } = sent
  const asked = formOf({
    version: override.version,
    factor: factor ?? undefined,
    periodDay: periodDay ?? undefined,
    plan: plan ?? undefined,
    bypassGlobal,
    shadow,
    reason,
    expiresAt,
    limits,
  } as OverrideResponse)
  const set = formOf(override)
  return editsSince(asked, set, set) === null && editsSince(set, asked, asked) === null
}

/** An empty limit counts as none. */
function differing<T>(now: Readonly<Record<string, T>>, before: Readonly<Record<string, T>>): Record<string, T> {
  const as = (value: T | undefined) => JSON.stringify(value ?? '')
  return Object.fromEntries(Object.entries(now).filter(([key, value]) => as(value) !== as(before[key])))
}

/** The body of the change, with what is wrong by the paths of the API. @param now milliseconds since the epoch */
export function bodyOf(
  form: OverrideForm,
  now: number,
): { readonly body: OverrideBody | null; readonly problems: Problems } {
  const problems: Record<string, Problem> = {}
  const limits: Record<string, Record<string, LimitValue>> = {}
  for (const [path, text] of Object.entries(form.limits)) {
    if (text.trim() === '') continue
    const value = limitFrom(text)
    const [category = '', window = ''] = path.split('.')
    if (value === null) problems[path] = 'problem.limit'
    else limits[category] = { ...limits[category], [window]: value }
  }
  const factor = factorOf(form.factor.trim())
  if (factor === null) problems.factor = 'problem.factor'
  const periodDay = dayOf(form.periodDay.trim())
  if (periodDay === null) problems.periodDay = 'problem.periodDay'
  const reason = form.reason.trim()
  if (reason === '' || reason.length > 500) problems.reason = 'problem.reason'
  const expiresAt = expiryOf(endOf(form), now)
  if (expiresAt === undefined) problems.expiresAt = 'problem.expiry'
  if (!setsAnything(form)) problems[''] = 'problem.nothing'
  if (Object.keys(problems).length > 0) return { body: null, problems }
  const { plan, bypassGlobal, shadow } = form
  return {
    body: {
      ...limits,
      ...(factor != null && { factor }),
      ...(periodDay != null && { periodDay }),
      ...(plan !== '' && { plan }),
      bypassGlobal,
      shadow,
      reason,
      expiresAt: expiresAt ?? null,
    },
    problems,
  }
}

function setsAnything({ limits, factor, periodDay, plan, bypassGlobal, shadow }: OverrideForm): boolean {
  const texts = [...Object.values(limits), factor, periodDay, plan]
  return bypassGlobal || shadow || texts.some((text) => text.trim() !== '')
}

/** The day of a text; `undefined` if the text is empty, `null` if it is no day. */
function dayOf(text: string): number | null | undefined {
  if (text === '') return undefined
  return /^([1-9]|[12]\d|3[01])$/.test(text) ? Number(text) : null
}

/** The factor of a text; `undefined` if the text is empty, `null` if it is no factor from 0 to 100. */
function factorOf(text: string): number | null | undefined {
  if (text === '') return undefined
  const factor = Number(text)
  return /^\d{1,3}(\.\d{1,3})?$/.test(text) && factor <= 100 ? factor : null
}

/** The moment of an end in ISO 8601; `null` for never, `undefined` if it is no future time. */
export function expiryOf(expiry: Expiry, now: number): string | null | undefined {
  if (expiry.kind === 'never') return null
  const at = momentOf(expiry, now)
  return at > now ? new Date(at).toISOString() : undefined
}

function momentOf(expiry: Exclude<Expiry, { kind: 'never' }>, now: number): number {
  switch (expiry.kind) {
    case 'keep':
      return Date.parse(expiry.at)
    case 'hours':
      return now + expiry.hours * 3_600_000
    case 'today':
      return endOfDay(now, 0)
    case 'tomorrow':
      return endOfDay(now, 1)
    case 'friday':
      return endOfFriday(now)
    case 'at':
      return Date.parse(expiry.local)
  }
}

/** The midnight after a day, by the browser's clock. @param days 0 for today */
export function endOfDay(now: number, days: number): number {
  const day = new Date(now)
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + days + 1).getTime()
}

/** The initial value of a field for a time: the full hour a day from now, by the browser's clock. */
export function tomorrowsHour(now: number): string {
  const day = new Date(now)
  const at = new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1, day.getHours() + 1)
  return localIso(at.getTime()).slice(0, 'YYYY-MM-DDTHH:MM'.length)
}

/** The next midnight after a Friday, by the browser's clock. */
export function endOfFriday(now: number): number {
  const FRIDAY = 5
  return endOfDay(now, (FRIDAY - new Date(now).getDay() + 7) % 7)
}

/** The part of a user's body that the API accepts for an organisation. */
export function forOrganisation({
  plan: _,
  bypassGlobal: __,
  shadow: ___,
  ...body
}: OverrideBody): OrganisationOverrideBody {
  return body
}

/** An override in the form of a body, without the fields that only the API sets. */
export function flatOf(override: OverrideResponse | OrganisationOverrideResponse | null): unknown {
  if (override === null) return null
  const { limits, version: _, layers: __, ...others } = override
  return { ...limits, ...others }
}

export interface UsedUp {
  readonly scope: Scope
  readonly category: string
  readonly window: string
  readonly used: number
  readonly limit: number
  readonly resetAt?: string | null | undefined
  /** Whether waiting does not help, because no request fits into the limit. */
  readonly forever: boolean
}

/**
 * Windows without room for the cheapest request under a new override. Global windows are included if the present override spares the
 * user them and the new one does not.
 * @param body `null` for none, so that all limits are the defaults
 * @param quota for the defaults; `null` if unknown, as for a lead. The cheapest request then counts as one token
 * @param isAbove whether the new override lies above what is set; otherwise it replaces that. Default true
 */
export function usedUpUnder(
  body: OverrideBody | null,
  of: Pick<Overridable, 'windows' | 'override'> & Partial<Overridable>,
  quota: Pick<QuotaResponse, 'effective' | 'cheapest' | 'windows'> | null,
  isAbove = true,
): UsedUp[] {
  const { windows, override, kind = 'user' } = of
  if (body?.shadow === true) return []
  const endsSparing = isSpared(override) && !isSpared(body)
  return Object.entries(windows).flatMap(([category, list]) => {
    const cost = quota === null ? 1 : quota.cheapest[category]
    if (cost === undefined) return []
    const global = endsSparing ? (quota?.windows[category] ?? []) : []
    const own = list.flatMap((each) => {
      const { scope, window, used, resetAt } = each
      if (scope !== SCOPE_OF[kind]) return []
      const set = (body?.[category] as Record<string, LimitValue> | undefined)?.[window]
      if (set === NO_LIMIT) return []
      const byDefault = withoutOverride(category, each, of, quota, body?.plan)
      const without =
        limitOf(set) ?? (byDefault === undefined ? quota?.effective.personal[category]?.[window] : byDefault)
      // A factor alone multiplies what is below it.
      const base = isAbove && body !== null && setsFactorAlone(body) && override !== null ? each.limit : without
      const limit = base == null ? base : multiplied(base, body?.factor ?? 1)
      const beyond = set === undefined ? each.over : isSoft(set) ? set.over : undefined
      const over = body?.factor == null ? beyond : undefined
      return limit == null ? [] : [{ scope, window, used, limit, over, resetAt }]
    })
    return [...own, ...global]
      .filter((each) => lacksRoom(each, cost))
      .map(({ scope, window, used, limit, resetAt }) => {
        return { scope, category, window, used, limit, resetAt, forever: limit < cost }
      })
  })
}

/**
 * Limits above what a lead may give, by `category.window` with the highest that may be given. If an override sets a limit,
 * its default is unknown here, and only the organisation's limit counts.
 */
export function aboveShare(
  { limits }: OverrideForm,
  { windows, override }: Overridable,
): Readonly<Record<string, number>> {
  const found = Object.entries(limits).flatMap(([path, text]) => {
    const value = text.trim() === '' ? null : limitFrom(text)
    if (value === null) return []
    const [category = '', window = ''] = path.split('.')
    const isSet = override?.limits[category]?.[window] !== undefined
    const shared = (windows[category] ?? []).filter(
      (each) => each.window === window && (each.scope === 'Organisation' || (each.scope === 'Personal' && !isSet)),
    )
    const most = Math.min(...shared.map(({ limit }) => limit ?? Number.POSITIVE_INFINITY))
    const isWithin = most === Number.POSITIVE_INFINITY || (typeof value === 'number' && value <= most)
    return isWithin ? [] : [[path, most] as const]
  })
  return Object.fromEntries(found)
}

function limitOf(value: Exclude<LimitValue, typeof NO_LIMIT> | undefined): number | undefined {
  return isSoft(value) ? value.limit : value
}

/**
 * The limit of a window without an override; `null` for none, `undefined` if unknown.
 * @param quota `null` if unknown
 * @param plan that an override sets; undefined for that of the credential
 */
export function withoutOverride(
  category: string,
  { window, limit, byDefault }: OverridableWindow,
  { override, plan: inForce }: Pick<Overridable, 'override' | 'plan'>,
  quota: Pick<QuotaResponse, 'effective'> | null,
  plan: string | null | undefined,
): number | null | undefined {
  if (byDefault !== undefined) return byDefault
  const isSet = override?.limits[category]?.[window] !== undefined || override?.factor !== undefined
  if (!isSet && (plan ?? undefined) === override?.plan) return limit
  // While an override sets the plan, that of the credential is unknown.
  const name = plan ?? (override?.plan === undefined ? inForce?.name : undefined)
  if (quota === null || (name === undefined && quota.effective.plans !== undefined)) return undefined
  const ofPlan = name == null ? undefined : quota.effective.plans?.[name]?.personal
  return (ofPlan ?? quota.effective.personal)[category]?.[window]
}

/** Whether global windows never refuse the user, even if they are full. */
function isSpared(override: Pick<OverrideBody, 'bypassGlobal' | 'shadow'> | null): boolean {
  return override?.bypassGlobal === true || override?.shadow === true
}
