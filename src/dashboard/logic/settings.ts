import type { QuotaPatch, SettingsInForceResponse, SettingsResponse } from '../../contract/api.ts'
import { MODES, MULTIPLIER } from '../../quota/limit-layers.ts'
import { MAX_LIMIT } from '../../quota/multiplied.ts'
import { lacksRoom } from '../../quota/window.ts'

/** What is being edited on the page of the quotas: values by their dotted path, as the API's `changed` has them. */

/** As typed; `null` gives the value back to the file. */
export type Edit = string | boolean | null
export type Draft = Readonly<Record<string, Edit>>
export type Value = string | number | boolean | null

/** What is wrong with an edit; the name of a text. */
export type Problem = 'problem.mode' | 'problem.multiplier' | 'problem.limit' | 'problem.empty'
export type Problems = Readonly<Record<string, Problem>>

/** The value at a path; `null` if there is none. */
export function valueAt(settings: SettingsResponse, path: string): Value {
  const found = path
    .split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], settings)
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean' ? found : null
}

/** An edit that changes nothing is none. */
export function withEdit(draft: Draft, quota: SettingsInForceResponse, path: string, edit: Edit): Draft {
  const { [path]: _, ...others } = draft
  const now = valueAt(quota, path)
  const same = edit === null ? !isSetAtRunTime(quota, path) : String(edit).trim() === String(now ?? '')
  return same ? others : { ...others, [path]: edit }
}

export function withoutEdit(draft: Draft, path: string): Draft {
  const { [path]: _, ...others } = draft
  return others
}

/** What has been edited since those edits were sent to be applied. */
export function editsSince(draft: Draft, applied: Draft): Draft {
  return Object.fromEntries(Object.entries(draft).filter(([path, edit]) => applied[path] !== edit))
}

/** Edits but those that are in force by now, whoever made them so. */
export function stillEdits(draft: Draft, quota: SettingsInForceResponse): Draft {
  const still = Object.entries(draft).filter(([path, edit]) => path in withEdit({}, quota, path, edit))
  return still.length === Object.keys(draft).length ? draft : Object.fromEntries(still)
}

export function isSetAtRunTime(quota: SettingsInForceResponse, path: string): boolean {
  return quota.changed.includes(path)
}

/** Edits as the body of a change; `patch` is `null` where something is wrong. */
export function patchOf(draft: Draft): { readonly patch: QuotaPatch | null; readonly problems: Problems } {
  const problems: Record<string, Problem> = {}
  const patch: Tree = {}
  for (const [path, edit] of Object.entries(draft)) {
    const meant = meaningOf(path, edit)
    if ('problem' in meant) problems[path] = meant.problem
    else setAt(patch, path.split('.'), meant.value)
  }
  return Object.keys(problems).length === 0 ? { patch: patch as QuotaPatch, problems } : { patch: null, problems }
}

/**
 * Edits that multiply all personal limits of the form, by the fields that the mode goes by: in mode Custom its own values. Rounded to
 * whole tokens, and no field below 1 that has some.
 * @param draft what is edited already, of which they are made
 */
export function scaledPersonal(quota: SettingsInForceResponse, draft: Draft, factor: number): Draft {
  const mode = draft.mode === null ? quota.file.mode : (draft.mode ?? quota.mode)
  let next = draft
  for (const [category, row] of Object.entries(quota.effective.personal)) {
    for (const window of Object.keys(row)) {
      const path = fieldOf(String(mode), { scope: 'personal', category, window })
      const base = fieldOf('normal', { scope: 'personal', category, window })
      const now = limitIn(quota, draft, path) ?? limitIn(quota, draft, base)
      if (now === null || now === 0) continue
      const scaled = Math.min(MAX_LIMIT, Math.max(1, Math.round(now * factor)))
      next = withEdit(next, quota, path, String(scaled))
    }
  }
  return next
}

/** The field that makes a limit in a mode. */
export function fieldOf(mode: string, { scope, category, window }: Place): string {
  return `${mode === 'custom' ? 'custom' : 'baselines'}.${scope}.${category}.${window}`
}

/** The limit that a field has, with its edit; `null` if it has none, or something that is no limit. */
export function limitIn(quota: SettingsInForceResponse, draft: Draft, path: string): number | null {
  const edit = draft[path]
  const value = edit === null ? valueAt(quota.file, path) : (edit ?? valueAt(quota, path))
  if (typeof value === 'number') return value
  const meant = typeof value === 'string' ? limitOf(value.trim()) : null
  return meant !== null && 'value' in meant ? meant.value : null
}

export interface Place {
  readonly scope: 'personal' | 'global'
  readonly category: string
  readonly window: string
}

/** Limits that not even the cheapest request fits into, which shows in nobody's counters before it has been made. */
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

/** One value that will be another. */
export interface Change {
  readonly path: string
  readonly from: Value
  readonly to: Value
  /** Whether it is given back to the file. */
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
  // A custom value that is emptied follows what lies under it.
  if (text === '') return path.startsWith('custom.') ? { value: null } : { problem: 'problem.empty' }
  return limitOf(text)
}

function multiplier(text: string): Meant {
  const value = Number(text)
  const good = /^(\d+\.?\d*|\.\d+)$/.test(text) && value >= MULTIPLIER.min && value <= MULTIPLIER.max
  return good ? { value } : { problem: 'problem.multiplier' }
}

const STEP = 0.05

/** The multiplier a step up or down, within its bounds; as it is where it is none. */
export function steppedMultiplier(text: string, up: boolean): string {
  const meant = multiplier(text.trim())
  if ('problem' in meant) return text
  // In decimal: 1.1 + 0.05 is 1.1500000000000001.
  const next = Number((Number(meant.value) + (up ? STEP : -STEP)).toFixed(12))
  return String(Math.min(MULTIPLIER.max, Math.max(MULTIPLIER.min, next)))
}

export function limitOf(text: string): { readonly value: number } | { readonly problem: 'problem.limit' } {
  const value = Number(text)
  return /^\d+$/.test(text) && value <= MAX_LIMIT ? { value } : { problem: 'problem.limit' }
}

interface Tree {
  [key: string]: Tree | Value
}

/** Sets what a path leads to, with what is on the way. */
export function setAt(tree: Tree, [key = '', ...rest]: string[], value: Value): void {
  if (rest.length === 0) {
    tree[key] = value
    return
  }
  const below = tree[key]
  const branch: Tree = typeof below === 'object' && below !== null ? below : {}
  tree[key] = branch
  setAt(branch, rest, value)
}
