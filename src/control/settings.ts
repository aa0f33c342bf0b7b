import { isObject } from '../lib/json.ts'
import { type LimitValue, tablesOf, type ValueTable, valueIn as writtenIn } from '../quota/limit-value.ts'
import {
  type LimitTable,
  MODES,
  type Mode,
  type Origin,
  type PlanLimits,
  type Plans,
  type QuotaSettings,
  type ScopedLimits,
} from '../quota/policy.ts'
import {
  type Check,
  choice,
  each,
  flag,
  type Json,
  limit,
  multiplier,
  object,
  onlyNull,
  orNull,
  type Problem,
  reason,
} from './problems.ts'
import type { Changes, PlanTables, ScopedTable } from './state.ts'
import { TIMING_FIELDS } from './timing.ts'

/** The file's values for everything that can be changed at run time. */
export type FileSettings = QuotaSettings & { readonly shadow: boolean }

/** A merge patch: a missing value stays, and `null` removes what was set, so that the value below counts. */
type Patch<T> = T extends LimitValue | Mode | boolean
  ? T
  : { readonly [K in keyof T]?: Patch<NonNullable<T[K]>> | null }

/** The body of `PATCH /api/quota`. */
export interface QuotaPatchLike extends Patch<Changes> {
  /** The reason, for the audit. This field and the following ones are no part of the settings. */
  readonly reason?: string
  /** When the change is made and when it is taken back, in RFC 3339. */
  readonly from?: string | null
  readonly until?: string | null
  /** For how long requests are counted after the change, `10m`, and which share may be refused, `5%`; `null` ends a guard. */
  readonly guard?: { readonly for: string; readonly refused: string } | null
}

export interface Resolved {
  readonly settings: QuotaSettings
  readonly shadow: boolean
  /** Paths of the values that replace those of the file: `mode`, `baselines.personal.read.1h`. */
  readonly changed: readonly string[]
}

const SCOPES = ['personal', 'global'] as const
export const PLAN_SCOPES = ['personal', 'organisation'] as const

/** The settings in force. A value whose category or window the file lacks has no effect until the file has it again. */
export function resolve(file: FileSettings, changes: Changes): Resolved {
  const baselines = over(file, file.baselines, changes.baselines)
  const custom = over(file, file.custom ?? NO_LIMITS, changes.custom)
  return {
    settings: {
      mode: changes.mode ?? file.mode,
      windows: file.windows,
      baselines,
      custom: isEmpty(custom) ? null : custom,
      global: { ...file.global, ...changes.global },
      ...(file.reserve !== undefined && { reserve: file.reserve }),
      ...(file.plans !== undefined && { plans: plansOver(file, file.plans, changes.plans) }),
      ...(file.defaultPlan !== undefined && { defaultPlan: file.defaultPlan }),
      ...(file.hasNamedDays !== undefined && { hasNamedDays: file.hasNamedDays }),
    },
    shadow: changes.shadow ?? file.shadow,
    changed: changedPaths(file, changes),
  }
}

/**
 * JSON Merge Patch (RFC 7396), for a patch without problems: an object is merged, `null` removes a value, and anything
 * else replaces it. Unlike in the RFC, an empty object is removed too, so that everything in it follows the file.
 */
export function applyPatch(
  changes: Changes,
  { reason: _, from: __, until: ___, guard: ____, ...patch }: QuotaPatchLike,
): Changes {
  return merge(changes as Json, patch)
}

/**
 * Everything that is wrong with the body of `PATCH /api/quota`.
 * @param changes in force. A value whose category or window the file lacks can still be given back
 */
export function problemsOf(patch: unknown, file: FileSettings, changes: Changes = {}): Problem[] {
  const windows = file.windows.map(({ name }) => name)
  const categories = categoriesOf(file)
  const table = (resting: ValueTable = {}) => {
    const row = (known: readonly string[], category: string) => {
      const gone = Object.keys(memberOf(resting, category) ?? {})
      return orNull(object(new Map([...each(gone, onlyNull), ...each(known, orNull(limit))]), 'window'))
    }
    const names = (gone: boolean) => (gone ? Object.keys(resting) : categories)
    const rows = (gone: boolean) => names(gone).map((name): [string, Check] => [name, row(gone ? [] : windows, name)])
    return orNull(object(new Map([...rows(true), ...rows(false)]), 'category'))
  }
  const scopes = (resting: ScopedTable = {}) =>
    orNull(object(new Map(SCOPES.map((scope) => [scope, table(resting[scope])])), 'scope'))
  const plan = (resting: PlanTables = {}) =>
    orNull(object(new Map(PLAN_SCOPES.map((scope) => [scope, table(resting[scope])])), 'scope', dayOfPlan))
  const plans = () => {
    const names = [...(file.plans?.keys() ?? [])]
    const known = names.map((name): [string, Check] => [name, plan(memberOf(changes.plans ?? {}, name))])
    return orNull(object(new Map([...each(Object.keys(changes.plans ?? {}), onlyNull), ...known]), 'plan', NEW_PLAN))
  }
  const fields: [string, Check][] = [
    ['mode', orNull(choice(MODES))],
    [
      'global',
      orNull(
        object(
          new Map([
            ['enabled', orNull(flag)],
            ['multiplier', orNull(multiplier)],
          ]),
          'field',
        ),
      ),
    ],
    ['baselines', scopes(changes.baselines)],
    ['custom', scopes(changes.custom)],
    ['plans', plans()],
    ['shadow', orNull(flag)],
    ['reason', reason],
    ...TIMING_FIELDS.map(([name, check]): [string, Check] => [name, check]),
  ]
  return object(new Map(fields), 'field')(patch, '')
}

const NEW_PLAN = () => ': a plan begins in the file, under quota.plans'

/** The end of the message about an unknown key of a plan: where the day of a plan is set. */
function dayOfPlan(key: string): string {
  if (key !== 'period_day' && key !== 'periodDay') return ''
  return ': the day with which months of a plan begin is set in the file, under quota.plans, and that of one user or organisation by periodDay of an override'
}

/** Where values come from, for `Policy.trace`. @param lines `tollgate.yaml:22` for a value of the file */
export function originOf(changes: Changes, lines: Origin): Origin {
  return (scope, category, window, layer) => {
    const tables: Readonly<Partial<Record<typeof scope, ValueTable>>> =
      (typeof layer === 'object' ? memberOf(changes.plans ?? {}, layer.plan) : changes[layer]) ?? {}
    const set = valueIn(tables[scope], category, window)
    return set === undefined ? lines(scope, category, window, layer) : 'set at run time'
  }
}

export function categoriesOf(file: Pick<QuotaSettings, 'baselines'>): string[] {
  return [...file.baselines.personal.keys()]
}

const NO_LIMITS: ScopedLimits = { personal: new Map(), global: new Map() }

function over(file: FileSettings, limits: ScopedLimits, changes: ScopedTable | undefined): ScopedLimits {
  return changes === undefined ? limits : scopesOver(file, SCOPES, limits, changes)
}

/** Tables of several scopes, with the tokens that pass beyond their limits. */
type Scoped<S extends string> = Readonly<Record<S, LimitTable>> & {
  readonly over?: Readonly<Partial<Record<S, LimitTable>>>
}

function scopesOver<S extends string>(
  file: FileSettings,
  scopes: readonly S[],
  limits: Scoped<S>,
  changes: Readonly<Partial<Record<S, ValueTable>>>,
): Scoped<S> {
  const made = scopes.map((scope) => {
    const known = { limits: limits[scope], over: limits.over?.[scope] }
    return [scope, tablesOf(rowsOver(file, known, changes[scope]))] as const
  })
  const tables = Object.fromEntries(made.map(([scope, { limits }]) => [scope, limits])) as Record<S, LimitTable>
  const soft = Object.fromEntries(made.map(([scope, { over }]) => [scope, over])) as Record<S, LimitTable>
  return { ...tables, ...(made.some(([, { over }]) => over.size > 0) && { over: soft }) }
}

/** The plans of the file with what was set for them. Other plans are left out. */
function plansOver(file: FileSettings, plans: Plans, changes: Changes['plans'] = {}): Plans {
  const of = (name: string, limits: PlanLimits): PlanLimits => {
    const set = memberOf(changes, name)
    if (set === undefined) return limits
    const { periodDay } = limits
    return { ...scopesOver(file, PLAN_SCOPES, limits, set), ...(periodDay !== undefined && { periodDay }) }
  }
  return new Map([...plans].map(([name, limits]) => [name, of(name, limits)]))
}

function rowsOver(file: FileSettings, known: Parameters<typeof writtenIn>[0], changes: ValueTable | undefined) {
  const rows = categoriesOf(file).map((category) => {
    const row = file.windows.flatMap(({ name }): [string, LimitValue][] => {
      const value = valueIn(changes, category, name) ?? writtenIn(known, category, name)
      return value === undefined ? [] : [[name, value]]
    })
    return [category, row] as const
  })
  return rows.filter(([, row]) => row.length > 0)
}

function valueIn(table: ValueTable | undefined, category: string, window: string): LimitValue | undefined {
  const row = memberOf(table ?? {}, category)
  return row === undefined ? undefined : memberOf(row, window)
}

/** Reads only own members, because a category may be called `constructor`. */
function memberOf<T>(of: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(of, name) ? of[name] : undefined
}

function isEmpty({ personal, global }: ScopedLimits): boolean {
  return personal.size === 0 && global.size === 0
}

/** A limit for which the file has no place. */
export interface Resting {
  /** In the form of `changed`. */
  readonly path: string
  readonly value: LimitValue
}

/** Limits in a plan, category or window that this file does not have. Another replica may have it. */
export function restingIn(file: FileSettings, changes: Changes): Resting[] {
  const windows = new Set(file.windows.map(({ name }) => name))
  const categories = new Set(categoriesOf(file))
  return tablesIn(changes).flatMap(({ place, table, plan }) =>
    Object.entries(table).flatMap(([category, row]) =>
      Object.entries(row)
        .filter(([window]) => !hasPlan(file, plan) || !categories.has(category) || !windows.has(window))
        .map(([window, value]) => ({ path: [...place, category, window].join('.'), value })),
    ),
  )
}

/** A table of limits that were set. */
interface Tabled {
  /** The names of members that lead to it. */
  readonly place: readonly string[]
  readonly table: ValueTable
  /** The plan, if it is the table of a plan. */
  readonly plan?: string
}

export function tablesIn({ baselines, custom, plans = {} }: Changes): readonly Tabled[] {
  const tables: (Omit<Tabled, 'table'> & { readonly table: ValueTable | undefined })[] = [
    ...SCOPES.map((scope) => ({ place: ['baselines', scope], table: baselines?.[scope] })),
    ...SCOPES.map((scope) => ({ place: ['custom', scope], table: custom?.[scope] })),
    ...Object.entries(plans).flatMap(([plan, tables]) =>
      PLAN_SCOPES.map((scope) => ({ place: ['plans', plan, scope], table: tables[scope], plan })),
    ),
  ]
  return tables.flatMap(({ table, ...about }) => (table === undefined ? [] : [{ ...about, table }]))
}

function hasPlan({ plans }: FileSettings, plan: string | undefined): boolean {
  return plan === undefined || plans?.has(plan) === true
}

function changedPaths(file: FileSettings, changes: Changes): string[] {
  const limits = tablesIn(changes).flatMap(({ place, table, plan }) =>
    !hasPlan(file, plan)
      ? []
      : categoriesOf(file).flatMap((category) =>
          file.windows
            .filter(({ name }) => valueIn(table, category, name) !== undefined)
            .map(({ name }) => [...place, category, name].join('.')),
        ),
  )
  return [
    ...(changes.mode === undefined ? [] : ['mode']),
    ...(['enabled', 'multiplier'] as const)
      .filter((key) => changes.global?.[key] !== undefined)
      .map((key) => `global.${key}`),
    ...limits,
    ...(changes.shadow === undefined ? [] : ['shadow']),
  ]
}

function merge(target: Json, patch: Json): Json {
  const merged = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    const old = merged.get(key)
    const next = isObject(value) ? merge(isObject(old) ? old : {}, value) : value
    if (next === null || next === undefined || (isObject(next) && Object.keys(next).length === 0)) merged.delete(key)
    else merged.set(key, next)
  }
  // `fromEntries` defines a member `__proto__`, which an assignment would not do.
  return Object.fromEntries(merged)
}
