import { FIXED_FIELDS } from '../../control/override-file.ts'
import { didYouMean } from '../../lib/suggest.ts'
import { BOOK_SECONDS } from '../../quota/books.ts'
import { LONGEST_SECONDS } from '../../quota/calendar.ts'
import { portion } from '../../quota/decimal.ts'
import { type LimitTable, type PlanLimits, type ScopedLimits, UNLIMITED } from '../../quota/limit-layers.ts'
import { MOST_WINDOWS } from '../../quota/window.ts'
import type { PartialConfig } from '../partial.ts'
import type { Finding, Path } from '../problems.ts'
import { quote } from '../problems.ts'
import { MAX_WINDOW, MIN_WINDOW } from '../schema/quota.ts'
import { parseDuration } from '../units.ts'
import { type Candidate, readWindowsOf } from '../window-lengths.ts'

/** Windows, categories and limits must fit together. @param lineOf the line of a path, `null` if the file lacks it */
export function checkQuota(
  { quota, names: written }: Pick<PartialConfig, 'quota' | 'names'>,
  lineOf: (path: Path) => number | null,
): Finding[] {
  const { baselines, custom, mode, store_outage } = quota
  if (quota.windows !== undefined && lineOf(['quota', 'baselines']) === null) {
    const message = 'windows of your own need limits: add quota.baselines, with limits for them'
    return [{ path: ['quota'], key: 'windows', message }]
  }
  // Unknown names are only searched for if all windows are readable, because an invalid window is not unknown.
  const windows = readWindowsOf(quota)
  const findings = [...(windows === null ? [] : checkWindows(windows, quota)), ...checkAdaptive(quota.adaptive)]
  if (mode === 'custom' && 'custom' in quota && custom === undefined) {
    findings.push({
      path: ['quota', 'mode'],
      message: 'custom needs quota.custom: add it, of the same shape as baselines',
    })
  }
  if (written.categories !== null) findings.push(...checkOutage(written.storeOutage, written.categories))
  if (baselines === undefined) return findings
  const categories = [...baselines.personal.keys()]
  const names = windows?.map(({ name }) => name) ?? null
  findings.push(...checkCategories(baselines), ...checkLimits(baselines, ['quota', 'baselines'], categories, names))
  if (custom !== undefined) findings.push(...checkLimits(custom, ['quota', 'custom'], categories, names))
  findings.push(...checkOver(baselines, ['quota', 'baselines']))
  if (custom !== undefined) findings.push(...checkOver(custom, ['quota', 'custom']))
  for (const [plan, { periodDay: _, ...limits }] of quota.plans ?? [])
    findings.push(...checkOver(limits, ['quota', 'plans', plan]))
  for (const [category, share] of store_outage ?? []) {
    if (share > 0) findings.push(...checkShare(category, share, baselines))
  }
  return findings
}

function checkOutage(named: readonly string[], categories: readonly string[]): Finding[] {
  return named.flatMap((name) => unknownName(name, categories, ['quota', 'store_outage'], 'category'))
}

function checkAdaptive(adaptive: PartialConfig['quota']['adaptive']): Finding[] {
  if (adaptive === undefined) return []
  const path = ['quota', 'adaptive']
  const { good, normal, bad } = adaptive
  if (good < normal && normal < bad) return []
  return [{ path, message: 'the shares do not ascend: write good below normal, and normal below bad' }]
}

/** An `over` above its limit is probably a mistake: the sum instead of the part beyond the limit. */
function checkOver({ over = {}, ...limits }: ScopedLimits | Omit<PlanLimits, 'periodDay'>, path: Path): Finding[] {
  const tables = new Map(Object.entries<LimitTable>(limits))
  return Object.entries<LimitTable>(over).flatMap(([scope, table]) =>
    [...table].flatMap(([category, row]) =>
      [...row].flatMap(([window, over]): Finding[] => {
        const limit = tables.get(scope)?.get(category)?.get(window) ?? 0
        if (over <= limit) return []
        const message = `lets ${over} pass beyond a limit of ${limit}, which is ${limit + over} in all: over is what is added to limit, so lower it or raise the limit`
        return [{ path: [...path, scope, category, window, 'over'], severity: 'warning', message }]
      }),
    ),
  )
}

/** A share of less than one token admits nothing, which is hardly intended. */
function checkShare(category: string, share: number, baselines: ScopedLimits): Finding[] {
  for (const scope of ['personal', 'global'] as const) {
    for (const [window, limit] of baselines[scope].get(category) ?? []) {
      if (limit === UNLIMITED || portion(limit, share) >= 1) continue
      const of = `the ${scope} limit of window ${window}, ${limit}`
      const message = `is less than one token of ${of}, so it admits nothing: raise it, or write refuse`
      return [{ path: ['quota', 'store_outage', category, 'allow'], severity: 'warning', message }]
    }
  }
  return []
}

/** The place that names a window: `quota.windows`, or the first category in the baselines that has the window. */
export function placeOf({ windows, baselines }: PartialConfig['quota'], name: string): Path {
  if (windows !== undefined || baselines === undefined) return ['quota', 'windows']
  for (const scope of ['personal', 'global'] as const) {
    const named = [...baselines[scope]].find(([, row]) => row.has(name))
    if (named !== undefined) return ['quota', 'baselines', scope, named[0]]
  }
  return ['quota', 'baselines']
}

function checkWindows(windows: readonly Candidate[], quota: PartialConfig['quota']): Finding[] {
  const findings: Finding[] = []
  const path = placeOf(quota, windows[0]?.name ?? '')
  if (windows.length === 0 && quota.windows !== undefined)
    findings.push({ path, message: 'names no window: add one, like 1h' })
  if (windows.length > MOST_LIMITED) {
    findings.push({
      path,
      message: `has, with the other categories, ${windows.length} different windows: keep at most ${MOST_LIMITED}`,
    })
  }
  const seen = new Map<number, Candidate>()
  for (const window of windows) {
    const first = window.ms === null ? undefined : seen.get(window.ms)
    const message = lengthProblem(window) ?? (first === undefined ? null : sameLength(first, window))
    if (message !== null) findings.push({ path: placeOf(quota, window.name), message })
    else if (window.ms !== null) seen.set(window.ms, window)
  }
  return findings
}

function sameLength(first: Candidate, { name, calendar }: Candidate): string {
  if (calendar === undefined) return `windows ${first.name} and ${name} have the same length: remove one`
  return `windows ${first.name} and ${name} both count by the ${calendar.unit}: remove one`
}

const LONGEST = parseDuration(MAX_WINDOW)

/** The most windows of a configuration. It is one less than the maximum of a category, which includes the window of the books. */
const MOST_LIMITED = MOST_WINDOWS - 1

/** Lengths that the stores use for calendar windows. */
const TAKEN: ReadonlySet<number> = new Set(
  [BOOK_SECONDS, ...Object.values(LONGEST_SECONDS)].map((seconds) => 1000 * seconds),
)

function lengthProblem({ name, ms, calendar }: Candidate): string | null {
  if (calendar !== undefined) return null
  if (ms === null)
    return `window ${quote(name)} is not a length like 1h: write one, or give its length or calendar under quota.windows`
  if (ms === 0 || ('value' in LONGEST && ms > LONGEST.value)) {
    return `window ${quote(name)} is out of range: write ${MIN_WINDOW} to ${MAX_WINDOW}`
  }
  if (TAKEN.has(ms))
    return `window ${quote(name)} has a length that stands for a calendar in the store: change it by a second`
  return ms % 1000 === 0 ? null : `window ${quote(name)} is not a whole number of seconds: round it`
}

function checkLimits(
  limits: ScopedLimits,
  path: Path,
  categories: readonly string[],
  windows: readonly string[] | null,
): Finding[] {
  return (['personal', 'global'] as const).flatMap((scope) =>
    [...limits[scope]].flatMap(([category, byWindow]) => [
      ...unknownName(category, categories, [...path, scope], 'category'),
      ...[...byWindow.keys()].flatMap((window) =>
        windows === null ? [] : unknownName(window, windows, [...path, scope, category], 'window'),
      ),
    ]),
  )
}

/** There must be a category, and each category must name a window. None may have the name of a field of overrides. */
function checkCategories({ personal }: ScopedLimits): Finding[] {
  const path = ['quota', 'baselines', 'personal']
  if (personal.size === 0) return [{ path, message: 'names no category: add one, like read' }]
  return [...personal].flatMap(([category, { size }]) => [
    ...(FIXED_FIELDS.includes(category)
      ? [
          {
            path,
            key: category,
            message: `category ${quote(category)} has the name of a field of overrides: choose another`,
          },
        ]
      : []),
    ...(size === 0 ? [{ path: [...path, category], message: 'names no window: add one, like 1h' }] : []),
  ])
}

/** The problem of a name that is used but not defined. */
export function unknownName(name: string, known: readonly string[], path: Path, what: string): Finding[] {
  if (known.includes(name)) return []
  const cure = didYouMean(name, known) || `; there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ') || 'none'}`
  return [{ path, key: name, message: `unknown ${what} ${quote(name)}${cure}` }]
}
