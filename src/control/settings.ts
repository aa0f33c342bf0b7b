import { isObject } from '../lib/json.ts'
import { type LimitValue, tablesOf, type ValueTable, valueIn as writtenIn } from '../quota/limit-value.ts'
import { MODES, type Mode, type Origin, type QuotaSettings, type ScopedLimits } from '../quota/policy.ts'
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
import type { Changes, ScopedTable } from './state.ts'
import { TIMING_FIELDS } from './timing.ts'

/** What the file sets of all that can be changed at run time. */
export type FileSettings = QuotaSettings & { readonly shadow: boolean }

/** What is missing stays, `null` gives back to the file. The wire shape of `PATCH /api/quota`. */
export interface QuotaPatchLike {
  readonly mode?: Mode | null
  readonly global?: { readonly enabled?: boolean | null; readonly multiplier?: number | null } | null
  readonly baselines?: ScopedPatchLike | null
  readonly custom?: ScopedPatchLike | null
  readonly shadow?: boolean | null
  /** For the audit; no part of the settings. Neither are the others below. */
  readonly reason?: string
  /** When it is to be made, and when taken back, as RFC 3339 has it. */
  readonly from?: string | null
  readonly until?: string | null
  /** How long requests are counted after it, `10m`, and which share of them may be refused, `5%`; `null` ends a guard. */
  readonly guard?: { readonly for: string; readonly refused: string } | null
}

interface ScopedPatchLike {
  readonly personal?: TablePatchLike | null
  readonly global?: TablePatchLike | null
}
type TablePatchLike = Readonly<Record<string, Readonly<Record<string, LimitValue | null>> | null>>

export interface Resolved {
  readonly settings: QuotaSettings
  readonly shadow: boolean
  /** Dotted paths of the values that were set over the file's: `mode`, `baselines.personal.read.1h`. */
  readonly changed: readonly string[]
}

const SCOPES = ['personal', 'global'] as const
type Layer = 'baselines' | 'custom'

/** The settings in force. A change that the file has no category or window for rests until it has one again. */
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
      ...(file.plans !== undefined && { plans: file.plans }),
      ...(file.defaultPlan !== undefined && { defaultPlan: file.defaultPlan }),
    },
    shadow: changes.shadow ?? file.shadow,
    changed: changedPaths(file, changes),
  }
}

/**
 * JSON Merge Patch (RFC 7396), for a patch without problems: an object is merged, `null` takes a value away, anything else
 * replaces. Unlike there, an object that has become empty goes too: then everything in it follows the file.
 */
export function applyPatch(
  changes: Changes,
  { reason: _, from: __, until: ___, guard: ____, ...patch }: QuotaPatchLike,
): Changes {
  return merge(changes as Json, patch)
}

/**
 * What is wrong with the body of `PATCH /api/quota`, every problem at once.
 * @param changes in force: what rests, since the file has its category or window no more, can still be given back
 */
export function problemsOf(patch: unknown, file: FileSettings, changes: Changes = {}): Problem[] {
  const windows = file.windows.map(({ name }) => name)
  const categories = categoriesOf(file)
  const table = (resting: ValueTable = {}) => {
    const row = (known: readonly string[], category: string) => {
      const gone = Object.keys(Object.hasOwn(resting, category) ? (resting[category] ?? {}) : {})
      return orNull(object(new Map([...each(gone, onlyNull), ...each(known, orNull(limit))]), 'window'))
    }
    const names = (gone: boolean) => (gone ? Object.keys(resting) : categories)
    const rows = (gone: boolean) => names(gone).map((name): [string, Check] => [name, row(gone ? [] : windows, name)])
    return orNull(object(new Map([...rows(true), ...rows(false)]), 'category'))
  }
  const scopes = (resting: ScopedTable = {}) =>
    orNull(object(new Map(SCOPES.map((scope) => [scope, table(resting[scope])])), 'scope'))
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
    ['shadow', orNull(flag)],
    ['reason', reason],
    ...TIMING_FIELDS.map(([name, check]): [string, Check] => [name, check]),
  ]
  return object(new Map(fields), 'field')(patch, '')
}

/** Where the values come from, for `Policy.trace`. @param lines `tollgate.yaml:22` for a value of the file */
export function originOf(changes: Changes, lines: Origin): Origin {
  return (scope, category, window, layer) => {
    const isFixed = typeof layer === 'object' || scope === 'organisation'
    const set = isFixed ? undefined : valueIn(changes[layer]?.[scope], category, window)
    return set === undefined ? lines(scope, category, window, layer) : 'set at run time'
  }
}

export function categoriesOf(file: Pick<QuotaSettings, 'baselines'>): string[] {
  return [...file.baselines.personal.keys()]
}

const NO_LIMITS: ScopedLimits = { personal: new Map(), global: new Map() }

function over(file: FileSettings, limits: ScopedLimits, changes: ScopedTable | undefined): ScopedLimits {
  if (changes === undefined) return limits
  const [personal, global] = SCOPES.map((scope) => {
    const known = { limits: limits[scope], over: limits.over?.[scope] }
    return tablesOf(rowsOver(file, known, changes[scope]))
  }) as [Tables, Tables]
  const isSoft = personal.over.size > 0 || global.over.size > 0
  const soft = isSoft && { over: { personal: personal.over, global: global.over } }
  return { personal: personal.limits, global: global.limits, ...soft }
}

type Tables = ReturnType<typeof tablesOf>

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

/** Own members only: a category may be called `constructor`. */
function valueIn(table: ValueTable | undefined, category: string, window: string): LimitValue | undefined {
  if (table === undefined || !Object.hasOwn(table, category)) return undefined
  const row = table[category]
  return row !== undefined && Object.hasOwn(row, window) ? row[window] : undefined
}

function isEmpty({ personal, global }: ScopedLimits): boolean {
  return personal.size === 0 && global.size === 0
}

/** A limit that the file has no place for. */
export interface Resting {
  /** As a path of `changed`. */
  readonly path: string
  readonly value: LimitValue
}

/** What was set in a category or a window that this file does not have. Another replica may have it. */
export function restingIn(file: FileSettings, changes: Changes): Resting[] {
  const windows = new Set(file.windows.map(({ name }) => name))
  const categories = new Set(categoriesOf(file))
  return (['baselines', 'custom'] as const).flatMap((layer) =>
    SCOPES.flatMap((scope) =>
      Object.entries(changes[layer]?.[scope] ?? {}).flatMap(([category, row]) =>
        Object.entries(row)
          .filter(([window]) => !categories.has(category) || !windows.has(window))
          .map(([window, value]) => ({ path: `${layer}.${scope}.${category}.${window}`, value })),
      ),
    ),
  )
}

function changedPaths(file: FileSettings, changes: Changes): string[] {
  const limits = (layer: Layer): string[] =>
    SCOPES.flatMap((scope) =>
      categoriesOf(file).flatMap((category) =>
        file.windows
          .filter(({ name }) => valueIn(changes[layer]?.[scope], category, name) !== undefined)
          .map(({ name }) => `${layer}.${scope}.${category}.${name}`),
      ),
    )
  return [
    ...(changes.mode === undefined ? [] : ['mode']),
    ...(['enabled', 'multiplier'] as const)
      .filter((key) => changes.global?.[key] !== undefined)
      .map((key) => `global.${key}`),
    ...limits('baselines'),
    ...limits('custom'),
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
  // Defines members, where an assignment to `__proto__` would not.
  return Object.fromEntries(merged)
}
