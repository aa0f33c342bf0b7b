import { isObject, sameJson } from '../lib/json.ts'
import { type Leaf, leavesOf, treeOf } from './leaves.ts'
import type { Json, Problem } from './problems.ts'
import { type FileSettings, problemsOf, type QuotaPatchLike } from './settings.ts'
import type { Changes } from './state.ts'

/**
 * Limits of plans as a file: a document with `plans` as in a configuration, or a list or lines of plans, each with its name under
 * `plan`. It sets permanent values at run time. Layers above them do not change.
 */

export type PlanFile = { readonly plans: Json } | { readonly problems: readonly Problem[] }

/** The plans of a file by name. @param data as parsed: a document, or the values of its lines */
export function plansIn(data: unknown): PlanFile {
  if (Array.isArray(data)) return fromEntries(data)
  if (!isObject(data) || !isObject(data.plans)) return { problems: [{ path: '', msg: FORM }] }
  const problems = Object.keys(data)
    .filter((key) => key !== 'plans')
    .map((path): Problem => ({ path, msg: 'is no part of a file of plans: it has plans and nothing else' }))
  return problems.length > 0 ? { problems } : { plans: data.plans }
}

const FORM =
  'must be a map with plans, like { plans: { free: { personal: { read: { 1h: 60 } } } } }, or a list with plan'

function fromEntries(entries: readonly unknown[]): PlanFile {
  const plans = new Map<string, unknown>()
  const problems: Problem[] = []
  entries.forEach((entry, i) => {
    const path = `entry ${i + 1}`
    const { plan, ...limits } = isObject(entry) ? entry : {}
    if (typeof plan !== 'string') problems.push({ path, msg: 'must have the name of a plan under plan' })
    else if (plans.has(plan)) problems.push({ path, msg: `names plan ${plan}, which stands above already: keep one` })
    else plans.set(plan, limits)
  })
  return problems.length > 0 ? { problems } : { plans: Object.fromEntries(plans) }
}

/** What is wrong with the plans of a file. `null` is no valid value, because a value that is left out follows the configuration. */
export function planProblems(plans: Json, file: FileSettings): readonly Problem[] {
  const nulls = leavesOf({ plans }).filter(([, value]) => value === null)
  return [
    ...nulls.map(
      ([path]): Problem => ({ path: path.join('.'), msg: 'is null: leave it out, and it follows the configuration' }),
    ),
    ...problemsOf({ plans }, file),
  ]
}

/** One value that a file changes; `null` if it follows the configuration again. */
export interface PlanChange {
  readonly path: readonly string[]
  readonly from: unknown
  readonly to: unknown
}

/**
 * What a file changes in the permanent values. A value that is the same already is left out, so that layers above it stay.
 * @param merge whether values that the file lacks stay
 */
export function planChanges(plans: Json, permanent: Changes, merge: boolean): readonly PlanChange[] {
  const wanted = keyed(leavesOf({ plans }))
  const there = keyed(leavesOf({ plans: permanent.plans ?? {} }))
  const gone = merge ? [] : [...there].filter(([key]) => !wanted.has(key))
  return [
    ...[...wanted].map(([key, [path, to]]) => ({ path, from: there.get(key)?.[1] ?? null, to })),
    ...gone.map(([, [path, from]]) => ({ path, from, to: null })),
  ].filter(({ from, to }) => !sameJson(from, to))
}

function keyed(leaves: readonly Leaf[]): ReadonlyMap<string, Leaf> {
  return new Map(leaves.map((leaf) => [JSON.stringify(leaf[0]), leaf]))
}

export function patchOf(changes: readonly PlanChange[]): QuotaPatchLike {
  return treeOf(changes.map(({ path, to }): Leaf => [path, to])) as QuotaPatchLike
}
