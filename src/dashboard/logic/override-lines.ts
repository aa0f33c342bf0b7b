import type { OverrideBody, QuotaResponse } from '../../contract/api.ts'
import { inOneList } from './by-category.ts'
import { differences } from './diff.ts'
import { type Overridable, type OverridableWindow, SCOPE_OF, withoutOverride } from './override.ts'

/** What an override changes, line by line, with the limits that apply without it. Pure. */

interface FromTo<T> {
  readonly from: T
  readonly to: T
}

export interface OverrideLine {
  /** As in the audit: `limits.read.1h`, `plan`, `expiresAt`. */
  readonly path: string
  /** `undefined` if there was or is nothing. */
  readonly from: unknown
  readonly to: unknown
  /** For a limit: the value where none is set, with the plan before the change and with that after it; `undefined` if unknown. */
  readonly byDefault?: FromTo<number | null | undefined>
  /** For a limit of an organisation: what each plan sets, `null` for none. */
  readonly byPlan?: OverridableWindow['byPlan']
}

/** The fields beside the limits. No category has the name of such a field. */
const FIELDS = ['factor', 'periodDay', 'plan', 'within', 'bypassGlobal', 'shadow', 'expiresAt', 'reason'] as const

/** @param from in the form of a body, as `flatOf` makes it; `null` for no override @param to in the same form */
export function overrideLines(
  { from, to }: { readonly from: unknown; readonly to: unknown },
  of: Overridable,
  quota: QuotaResponse | null,
): readonly OverrideLine[] {
  const [before, after] = [nested(from), nested(to)]
  const limits = differences(before?.limits, after?.limits, 'limits').map((line): OverrideLine => {
    const [, category = '', name = ''] = line.path.split('.')
    const window = of.windows[category]?.find((each) => each.window === name && each.scope === SCOPE_OF[of.kind])
    if (window === undefined) return line
    const defaultOf = (plan: string | undefined) => withoutOverride(category, window, of, quota, plan)
    return { ...line, byDefault: { from: defaultOf(before?.plan), to: defaultOf(after?.plan) }, byPlan: window.byPlan }
  })
  const others = differences(before?.others, after?.others).filter(isNews)
  return [...inOrderOf(of, limits), ...FIELDS.flatMap((field) => others.filter(({ path }) => path === field))]
}

function nested(override: unknown) {
  if (override === null || override === undefined) return null
  const fields = Object.entries(override as OverrideBody)
  const isField = ([name]: [string, unknown]) => name === 'version' || FIELDS.some((known) => known === name)
  const others = Object.fromEntries(fields.filter(isField))
  return { limits: Object.fromEntries(fields.filter((each) => !isField(each))), others, plan: others.plan as string }
}

/** Whether a field differs. A flag that is off, or an end that is missing, is the same as no field. */
function isNews({ from, to }: { readonly from: unknown; readonly to: unknown }): boolean {
  return (from ?? false) !== (to ?? false)
}

function inOrderOf({ windows }: Overridable, lines: readonly OverrideLine[]): readonly OverrideLine[] {
  const paths = inOneList(windows).map(({ category, window }) => `limits.${category}.${window}`)
  const placeOf = ({ path }: OverrideLine) => (paths.includes(path) ? paths.indexOf(path) : paths.length)
  return lines.toSorted((a, b) => placeOf(a) - placeOf(b))
}
