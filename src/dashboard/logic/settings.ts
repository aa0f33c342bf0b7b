import type { QuotaPatch, SettingsInForceResponse, SettingsResponse } from '../../contract/api.ts'
import { type Leaf, treeOf } from '../../control/leaves.ts'
import { MODES, MULTIPLIER } from '../../quota/limit-layers.ts'
import { isSoft, type LimitValue, limitFrom, limitText, NO_LIMIT } from '../../quota/limit-value.ts'
import { MAX_LIMIT } from '../../quota/multiplied.ts'
import { lacksRoom } from '../../quota/window.ts'
import type { Problem, Problems } from '../i18n/en.ts'

/** The edits on the page of the quotas: values by their dotted path, as in the API's `changed`. */

/** As typed; `null` gives the value back to the file. */
export type Edit = string | boolean | null
export type Draft = Readonly<Record<string, Edit>>
export type Value = LimitValue | string | boolean | null

/** The names in a dotted path. Only names of plans may contain dots. */
export function namesOf(path: string): string[] {
  const names = path.split('.')
  return names[0] === 'plans' && names.length > PLAN_NAMES
    ? ['plans', names.slice(1, 2 - PLAN_NAMES).join('.'), ...names.slice(2 - PLAN_NAMES)]
    : names
}

/** How many names the path of a plan's limit has: `plans`, the plan, the scope, the category and the window. */
const PLAN_NAMES = 5

/** The value at a path; `null` if there is none. */
export function valueAt(settings: SettingsResponse, path: string): Value {
  const found = namesOf(path).reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], settings)
  const isValue = typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean' || isSoft(found)
  return isValue ? found : null
}

/** The draft with an edit of a value. An edit that changes nothing is removed. */
export function withEdit(draft: Draft, quota: SettingsInForceResponse, path: string, edit: Edit): Draft {
  const { [path]: _, ...others } = draft
  const now = valueAt(quota, path)
  const same = edit === null ? !isSetAtRunTime(quota, path) : isSame(edit, now)
  return same ? others : { ...others, [path]: edit }
}

function isSame(edit: Exclude<Edit, null>, now: Value): boolean {
  const meant = typeof edit === 'string' ? limitFrom(edit) : null
  return (meant === null ? String(edit).trim() : limitText(meant)) === String(shownIn(now))
}

/** A value as its field shows it. */
export function shownIn(value: Value): string | boolean {
  if (isSoft(value)) return limitText(value)
  return typeof value === 'boolean' ? value : String(value ?? '')
}

export function withoutEdit(draft: Draft, path: string): Draft {
  const { [path]: _, ...others } = draft
  return others
}

/** What has been edited since those edits were sent. */
export function editsSince(draft: Draft, applied: Draft): Draft {
  return Object.fromEntries(Object.entries(draft).filter(([path, edit]) => applied[path] !== edit))
}

/** The edits that are not in force yet. The values of the others may have been set by anybody. */
export function stillEdits(draft: Draft, quota: SettingsInForceResponse): Draft {
  const still = Object.entries(draft).filter(([path, edit]) => path in withEdit({}, quota, path, edit))
  return still.length === Object.keys(draft).length ? draft : Object.fromEntries(still)
}

export function isSetAtRunTime(quota: SettingsInForceResponse, path: string): boolean {
  return quota.changed.includes(path)
}

/** Edits as the body of a change. `patch` is `null` if something is wrong. */
export function patchOf(draft: Draft): { readonly patch: QuotaPatch | null; readonly problems: Problems } {
  const problems: Record<string, Problem> = {}
  const leaves = Object.entries(draft).flatMap(([path, edit]): Leaf[] => {
    const meant = meaningOf(path, edit)
    if ('value' in meant) return [[namesOf(path), meant.value]]
    problems[path] = meant.problem
    return []
  })
  return { patch: Object.keys(problems).length === 0 ? (treeOf(leaves) as QuotaPatch) : null, problems }
}

/**
 * Edits that multiply all personal limits of the form, in the fields that the mode uses: in mode Custom its own values. They are
 * rounded to whole tokens, and not below 1 unless a field is 0.
 * @param draft the edits so far
 */
export function scaledPersonal(quota: SettingsInForceResponse, draft: Draft, factor: number): Draft {
  const mode = draft.mode === null ? quota.file.mode : (draft.mode ?? quota.mode)
  let next = draft
  for (const [category, row] of Object.entries(quota.effective.personal)) {
    for (const window of Object.keys(row)) {
      const path = fieldOf(String(mode), { scope: 'personal', category, window })
      const base = fieldOf('normal', { scope: 'personal', category, window })
      const now = fieldIn(quota, draft, path) ?? fieldIn(quota, draft, base)
      if (now === null || now === NO_LIMIT || now === 0) continue
      const scaled = (tokens: number) => Math.min(MAX_LIMIT, Math.max(1, Math.round(tokens * factor)))
      const value = isSoft(now) ? { limit: scaled(now.limit), over: now.over && scaled(now.over) } : scaled(now)
      next = withEdit(next, quota, path, limitText(value))
    }
  }
  return next
}

/** The field that makes a limit in a mode. */
export function fieldOf(mode: string, { scope, category, window }: Place): string {
  return `${mode === 'custom' ? 'custom' : 'baselines'}.${scope}.${category}.${window}`
}

/** The tokens that a field promises, with its edit; `null` if it has no valid limit. */
export function limitIn(quota: SettingsInForceResponse, draft: Draft, path: string): number | null {
  const value = fieldIn(quota, draft, path)
  return value === NO_LIMIT ? null : isSoft(value) ? value.limit : value
}

/** The text of a field whose limit is moved. The tokens beyond it stay, unless the limit is 0. */
export function movedTo(quota: SettingsInForceResponse, draft: Draft, path: string, limit: number): string {
  const value = fieldIn(quota, draft, path)
  return limitText(isSoft(value) && limit > 0 ? { ...value, limit } : limit)
}

function fieldIn(quota: SettingsInForceResponse, draft: Draft, path: string): LimitValue | null {
  const edit = draft[path]
  const value = edit === null ? valueAt(quota.file, path) : (edit ?? valueAt(quota, path))
  if (typeof value === 'number' || isSoft(value)) return value
  return typeof value === 'string' ? limitFrom(value) : null
}

export interface Place {
  readonly scope: 'personal' | 'global'
  readonly category: string
  readonly window: string
}

/** Limits into which no request fits. Users' counters show this only after such a request was made. */
export function noneFits(
  effective: SettingsInForceResponse['effective'],
  cheapest: SettingsInForceResponse['cheapest'],
): Place[] {
  return (['personal', 'global'] as const).flatMap((scope) =>
    Object.entries(effective[scope]).flatMap(([category, row]) =>
      Object.entries(row)
        .filter(([, limit]) => lacksRoom({ used: 0, limit }, cheapest[category]))
        .map(([window]) => ({ scope, category, window })),
    ),
  )
}

/** A value that will change. */
export interface Change {
  readonly path: string
  readonly from: Value
  readonly to: Value
  /** Whether the value is given back to the file. */
  readonly toFile: boolean
}

export function changesOf(quota: SettingsInForceResponse, draft: Draft): Change[] {
  return Object.entries(draft).map(([path, edit]) => {
    const meant = meaningOf(path, edit)
    const value = 'value' in meant ? meant.value : null
    const toFile = value === null
    return { path, from: valueAt(quota, path), to: toFile ? valueAt(quota.file, path) : value, toFile }
  })
}

type Meant = { readonly value: Value } | { readonly problem: Problem }

function meaningOf(path: string, edit: Edit): Meant {
  if (edit === null || typeof edit === 'boolean') return { value: edit }
  const text = edit.trim()
  if (path === 'mode') return MODES.some((mode) => mode === text) ? { value: text } : { problem: 'problem.mode' }
  if (path === 'global.multiplier') return multiplier(text)
  // An emptied value follows what is below it, but a baseline has nothing below it.
  if (text === '') return path.startsWith('baselines.') ? { problem: 'problem.empty' } : { value: null }
  const value = limitFrom(text)
  return value === null ? { problem: 'problem.limit' } : { value }
}

function multiplier(text: string): Meant {
  const value = Number(text)
  const good = /^(\d+\.?\d*|\.\d+)$/.test(text) && value >= MULTIPLIER.min && value <= MULTIPLIER.max
  return good ? { value } : { problem: 'problem.multiplier' }
}

const STEP = 0.05

/** The multiplier a step up or down within its bounds; unchanged if the text is no multiplier. */
export function steppedMultiplier(text: string, up: boolean): string {
  const meant = multiplier(text.trim())
  if ('problem' in meant) return text
  // In decimal, because 1.1 + 0.05 is 1.1500000000000001.
  const next = Number((Number(meant.value) + (up ? STEP : -STEP)).toFixed(12))
  return String(Math.min(MULTIPLIER.max, Math.max(MULTIPLIER.min, next)))
}
