import { isObject } from '../lib/json.ts'
import { onceForEach } from '../lib/memo.ts'
import { tablesOf, type ValueTable } from '../quota/limit-value.ts'
import { isMonth, isPeriodDay, PERIOD_DAY } from '../quota/period-days.ts'
import type { Override, Overrides } from '../quota/policy.ts'
import { grantsInForce } from './grants.ts'
import {
  type Check,
  choice,
  each,
  flag,
  type Json,
  limit,
  object,
  only,
  orNull,
  type Problem,
  reason,
} from './problems.ts'
import { categoriesOf, type FileSettings } from './settings.ts'
import type { ControlState, OrganisationOverride, UserOverride, Versioned } from './state.ts'
import { timeOf } from './times.ts'
import { isUserId, USER_ID } from './user-id.ts'

/**
 * Reads the body of `PUT /api/users/{id}/override`, which has limits by category and window besides the other fields. A
 * missing value or `null` follows the default. The configuration allows no category with the name of another field.
 * @param now the store's time, in milliseconds since the epoch
 */
export function overrideFrom(
  body: unknown,
  file: FileSettings,
  now: number,
): { readonly override: UserOverride } | { readonly problems: readonly Problem[] } {
  const categories = categoriesOf(file)
  const problems = problemsOfBody(body, file, userFields(file), now)
  if (problems.length > 0 || !isObject(body)) return { problems }
  const override: UserOverride = {
    ...sharedIn(body, categories),
    ...(typeof body.plan === 'string' && { plan: body.plan }),
    ...(typeof body.within === 'string' && { within: body.within }),
    bypassGlobal: body.bypassGlobal === true,
    shadow: body.shadow === true,
  }
  if (override.within !== undefined && !setsLessAlone(override))
    return { problems: [{ path: 'within', msg: LESS_ALONE }] }
  return setsNothing(override) ? { problems: [{ path: '', msg: nothingSet(file, categories) }] } : { override }
}

/**
 * The overrides for a policy. Each is prepared when its owner first comes, because preparing 100,000 of them at once would
 * block the process after every change.
 */
export function asOverrides(state: Pick<ControlState, 'overrides' | 'organisationOverrides' | 'grants'>): Overrides {
  const [own, theirs] = [settersIn(state.overrides), settersIn(state.organisationOverrides)]
  return {
    ...madeReady(state.overrides),
    organisations: madeReady(state.organisationOverrides),
    hasPeriodDays: own.hasPeriodDays || theirs.hasPeriodDays,
    hasWithin: own.hasWithin,
    grants: grantsInForce(state.grants),
  }
}

type Setters = Required<Pick<Overrides, 'hasPeriodDays' | 'hasWithin'>>

type Setting = ReadonlyMap<string, Versioned<Pick<UserOverride, 'periodDay' | 'within'>>>

/** The result is made once for each map, because there may be 100,000 overrides, and every policy needs it. */
const settersIn = onceForEach((overrides: Setting): Setters => {
  let [hasPeriodDays, hasWithin] = [false, false]
  for (const { value } of overrides.values()) {
    hasPeriodDays ||= value.periodDay !== undefined
    hasWithin ||= value.within !== undefined
  }
  return { hasPeriodDays, hasWithin }
})

function madeReady<T extends Pick<UserOverride, 'limits'>>(overrides: ReadonlyMap<string, Versioned<T>>) {
  type Ready = Omit<T, 'limits'> & Pick<Override, 'limits' | 'over'>
  const ready = new Map<string, Ready>()

  function get(id: string): Ready | undefined {
    const known = ready.get(id)
    if (known !== undefined) return known
    const value = overrides.get(id)?.value
    if (value === undefined) return undefined
    const { limits, over } = tablesOf(
      Object.entries(value.limits).map(([category, row]) => [category, Object.entries(row)]),
    )
    const override = { ...value, limits, ...(over.size > 0 && { over }) }
    ready.set(id, override)
    return override
  }

  return { size: overrides.size, get }
}

/** Reads the body of `PUT /api/organisations/{id}/override`: limits, `factor`, `periodDay`, `reason` and `expiresAt`. */
export function organisationOverrideFrom(
  body: unknown,
  file: FileSettings,
  now: number,
): { readonly override: OrganisationOverride } | { readonly problems: readonly Problem[] } {
  const categories = categoriesOf(file)
  const problems = problemsOfBody(body, file, [], now)
  if (problems.length > 0 || !isObject(body)) return { problems }
  const override = sharedIn(body, categories)
  const { limits, factor, periodDay } = override
  if (Object.keys(limits).length > 0 || (factor ?? periodDay) !== undefined) return { override }
  const fields = hasMonths(file) ? ', a factor or a periodDay' : ', or a factor'
  const msg = `sets nothing: give a limit under ${categories.join(' or ')}${fields}; to take an override away, DELETE it`
  return { problems: [{ path: '', msg }] }
}

function nothingSet(file: FileSettings, categories: readonly string[]): string {
  const fields = `${file.plans === undefined ? '' : 'plan, '}${hasMonths(file) ? 'periodDay, ' : ''}factor, bypassGlobal or shadow`
  return `sets nothing: give a limit under ${categories.join(' or ')}, or set ${fields}; to take an override away, DELETE it`
}

const LESS_ALONE =
  'is for limits alone, which are numbers: leave out factor, periodDay, plan, bypassGlobal, shadow, unlimited and what passes beyond a limit, or leave out within'

/** Whether an override can only lower limits. */
function setsLessAlone({ limits, ...others }: UserOverride): boolean {
  const isLimited = Object.values(limits).every((row) => Object.values(row).every((limit) => typeof limit === 'number'))
  return isLimited && setsNoOther(others)
}

function setsNothing({ limits, ...others }: UserOverride): boolean {
  return Object.keys(limits).length === 0 && setsNoOther(others)
}

function setsNoOther({ factor, periodDay, plan, bypassGlobal, shadow }: Omit<UserOverride, 'limits'>): boolean {
  return factor === undefined && periodDay === undefined && plan === undefined && !bypassGlobal && !shadow
}

/** Checks that a value is the name of a plan of the configuration. */
export function planOf({ plans }: Pick<FileSettings, 'plans'>): Check {
  if (plans !== undefined && plans.size > 0) return choice([...plans.keys()])
  return (_, path) => [{ path, msg: 'names a plan, and the file has none: add quota.plans there' }]
}

/** The fields that only an override of a user has. */
function userFields(file: FileSettings): [string, Check][] {
  return [
    ...(file.plans === undefined ? [] : [['plan', orNull(planOf(file))] as [string, Check]]),
    ['within', orNull(only(isUserId, `must be an organisation: ${USER_ID}`))],
    ['bypassGlobal', orNull(flag)],
    ['shadow', orNull(flag)],
  ]
}

function problemsOfBody(
  body: unknown,
  file: FileSettings,
  others: readonly (readonly [string, Check])[],
  now: number,
): Problem[] {
  const categories = categoriesOf(file)
  const windows = orNull(
    object(
      each(
        file.windows.map(({ name }) => name),
        orNull(limit),
      ),
      'window',
    ),
  )
  const fields: (readonly [string, Check])[] = [
    ...others,
    ['factor', orNull(factor)],
    ['periodDay', orNull(hasMonths(file) ? periodDay : withoutMonths)],
    ['reason', reason],
    ['expiresAt', orNull(expiry(now))],
  ]
  const problems = object(new Map([...each(categories, windows), ...fields]), 'field')(body, '')
  return isObject(body) && body.reason === undefined ? [...problems, ...reason(undefined, 'reason')] : problems
}

const MAX_FACTOR = 100
/** How many decimals a factor may have. */
const DIGITS = 3

const factor = only(
  (value) => typeof value === 'number' && value >= 0 && value <= MAX_FACTOR && Number(value.toFixed(DIGITS)) === value,
  `must be a number from 0 to ${MAX_FACTOR} with ${DIGITS} decimals at most: 1.5 is half as much again, and 0 blocks`,
)

function hasMonths({ windows }: Pick<FileSettings, 'windows'>): boolean {
  return windows.some(isMonth)
}

const periodDay = only(
  isPeriodDay,
  `must be a day from ${PERIOD_DAY.min} to ${PERIOD_DAY.max}, of which 29 to 31 mean the last day of a month that is shorter`,
)

const withoutMonths = only(
  () => false,
  'is for a window of months, and the file has none: add one to quota.windows there, like { calendar: month, zone: Asia/Shanghai }, or leave this out',
)

/** The fields that overrides of users and of organisations have in common. A factor of 1 changes nothing, so it is left out. */
function sharedIn(body: Json, categories: readonly string[]): OrganisationOverride {
  const { factor, periodDay, reason, expiresAt } = body
  return {
    limits: limitsIn(body, categories),
    ...(typeof factor === 'number' && factor !== 1 && { factor }),
    ...(typeof periodDay === 'number' && { periodDay }),
    reason: reason as string,
    expiresAt: typeof expiresAt === 'string' ? timeOf(expiresAt) : null,
  }
}

function limitsIn(body: Json, categories: readonly string[]): ValueTable {
  const rows = categories
    .filter((category) => Object.hasOwn(body, category) && isObject(body[category]))
    .map((category) => [category, withoutNulls(body[category] as Json)] as const)
  return Object.fromEntries(rows.filter(([, row]) => Object.keys(row).length > 0))
}

function withoutNulls(row: Json): ValueTable[string] {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as ValueTable[string]
}

function expiry(now: number): Check {
  return (value, path) => {
    const at = typeof value === 'string' ? timeOf(value) : Number.NaN
    if (Number.isNaN(at)) {
      const msg =
        'must be a time with its offset, for example 2030-01-31T00:00:00Z; leave it out for an override without an end'
      return [{ path, msg }]
    }
    return at > now ? [] : [{ path, msg: `must be in the future: it is ${new Date(now).toISOString()} now` }]
  }
}
