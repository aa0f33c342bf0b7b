import { isObject } from '../lib/json.ts'
import { BASELINES } from './schema/quota.ts'

type Data = Readonly<Record<string, unknown>>

/**
 * Adds the built-in limits of `read` or `write` to the data of a file if a rule names that category and `quota.baselines` lacks it. The
 * added category gets the windows of the other categories, if each of these windows has a built-in limit. Otherwise the category stays
 * unknown, which is a problem. A file without baselines gets all built-in limits from the schema.
 */
export function withBuiltInLimits(data: unknown): unknown {
  const quota = isObject(data) ? data.quota : undefined
  const baselines = isObject(quota) ? quota.baselines : undefined
  if (!isObject(data) || !isObject(quota) || !isObject(baselines) || !isObject(baselines.personal)) return data
  const { personal, global } = baselines
  // A window with a configured length may have the name of another length.
  const windows = quota.windows === undefined ? windowsIn(personal) : []
  const isWhole = windows.length > 0 && windows.every((window) => Object.hasOwn(BASELINES.personal.read, window))
  const lacking = (['read', 'write'] as const).filter((name) => !Object.hasOwn(personal, name) && isNamed(data, name))
  if (!isWhole || lacking.length === 0) return data
  const rows = (scope: 'personal' | 'global'): Data =>
    Object.fromEntries(lacking.map((name) => [name, only(windows, BASELINES[scope][name])]))
  const filled = {
    ...baselines,
    personal: { ...personal, ...rows('personal') },
    ...(isObject(global) && Object.keys(global).length > 0 && { global: { ...global, ...rows('global') } }),
  }
  return { ...data, quota: { ...quota, baselines: filled } }
}

/** Names of the windows in all categories. */
function windowsIn(personal: Data): string[] {
  return [...new Set(Object.values(personal).flatMap((row) => (isObject(row) ? Object.keys(row) : [])))]
}

function isNamed({ routes, unmatched }: Data, category: string): boolean {
  const rules: readonly unknown[] = [...(Array.isArray(routes) ? routes : []), unmatched]
  return rules.some(
    (rule) =>
      isObject(rule) &&
      (rule.category === category || (isObject(rule.charges) && Object.hasOwn(rule.charges, category))),
  )
}

function only(windows: readonly string[], row: Readonly<Record<string, number>>): Data {
  return Object.fromEntries(windows.map((window) => [window, row[window]]))
}
