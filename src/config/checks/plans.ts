import { didYouMean } from '../../lib/suggest.ts'
import type { PlanLimits } from '../../quota/limit-layers.ts'
import type { PartialConfig } from '../partial.ts'
import { type Finding, quote } from '../problems.ts'
import { readWindowsOf } from '../window-lengths.ts'
import { unknownName } from './quota.ts'

const PATH = ['quota', 'plans']
const SCOPES = ['personal', 'organisation'] as const

/** Plans must name existing categories and windows, and references must name existing plans. */
export function checkPlans({ quota, auth, names }: PartialConfig): Finding[] {
  const { plans, default_plan: byDefault, baselines } = quota
  if (names.plans === null) return []
  const findings = byDefault === undefined ? [] : unknownPlan(byDefault, names.plans, ['quota', 'default_plan'])
  if (names.plans.length === 0) return findings
  const { anonymous } = auth
  if (anonymous?.plan != null) findings.push(...unknownPlan(anonymous.plan, names.plans, ['auth', 'anonymous', 'plan']))
  if (plans === undefined) return findings
  const windows = readWindowsOf(quota)?.map(({ name }) => name) ?? null
  const categories = baselines === undefined ? names.categories : [...baselines.personal.keys()]
  if (categories === null) return findings
  for (const [plan, limits] of plans) findings.push(...checkNames(plan, limits, categories, windows))
  return [
    ...findings,
    ...[...plans].flatMap((plan) => checkLimits(plan, byDefault)),
    ...checkOrganisations(plans, auth),
  ]
}

/** The default plan may be empty and follow the baselines. In any other plan limits may have been forgotten. */
function checkLimits([plan, limits]: [string, PlanLimits], byDefault: string | undefined): Finding[] {
  if (plan === byDefault || limits.periodDay !== undefined) return []
  if (SCOPES.some((scope) => [...limits[scope].values()].some((byWindow) => byWindow.size > 0))) return []
  const message = 'sets no limit, so the baselines hold for its users: add limits under personal or organisation'
  return [{ path: [...PATH, plan], severity: 'warning', message }]
}

function unknownPlan(name: string, known: readonly string[], path: readonly string[]): Finding[] {
  if (known.includes(name)) return []
  const cure =
    known.length === 0
      ? '; there are none: add quota.plans'
      : `; there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`
  return [{ path, message: `unknown plan ${quote(name)}${didYouMean(name, known) || cure}` }]
}

function checkNames(
  plan: string,
  limits: PlanLimits,
  categories: readonly string[],
  windows: readonly string[] | null,
): Finding[] {
  return SCOPES.flatMap((scope) => {
    const path = [...PATH, plan, scope]
    return [...limits[scope]].flatMap(([category, byWindow]) => [
      ...unknownName(category, categories, path, 'category'),
      ...(windows === null
        ? []
        : [...byWindow.keys()].flatMap((window) => unknownWindow(window, windows, [...path, category]))),
    ])
  })
}

/** A window that only plans have is in no baseline, so it needs its length. */
function unknownWindow(window: string, windows: readonly string[], path: readonly string[]): Finding[] {
  const cure = didYouMean(window, windows) === '' ? ': give it a length in quota.windows, beside the others' : ''
  return unknownName(window, windows, path, 'window').map((found) => ({ ...found, message: found.message + cure }))
}

/** An organisation needs a credential that names it, or its limits never apply. */
function checkOrganisations(plans: ReadonlyMap<string, PlanLimits>, auth: PartialConfig['auth']): Finding[] {
  const { jwt, introspection, trusted, gateway_tokens: keys } = auth
  const isNamed =
    keys !== false ||
    trusted?.organisation != null ||
    [...jwt, ...introspection].some((provider) => provider.organisation_claim !== undefined)
  const plan = [...plans].find(([, { organisation }]) => organisation.size > 0)
  if (isNamed || plan === undefined) return []
  const message =
    'has no effect, since nothing names the organisation of a caller: add organisation_claim to an issuer, or auth.trusted.organisation'
  return [{ path: [...PATH, plan[0], 'organisation'], severity: 'warning', message }]
}
