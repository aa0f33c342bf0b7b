import { type AlertScope, kindOf } from '../../alerts/alert-kinds.ts'
import type { ScopeName } from '../../quota/charged-scopes.ts'
import { type LimitTable, UNLIMITED } from '../../quota/limit-layers.ts'
import { isLoopback } from '../addresses.ts'
import type { ParsedAlert, PartialConfig } from '../partial.ts'
import { type Finding, type Path, quote } from '../problems.ts'
import { strangeKeys } from '../schema/alerts.ts'
import { readWindowsOf } from '../window-lengths.ts'
import { unknownName } from './quota.ts'

/** Alerts must have different names, and name existing windows. */
export function checkAlerts({ alerts, quota, names }: PartialConfig): Finding[] {
  const windows = readWindowsOf(quota)?.map(({ name }) => name) ?? null
  const categories = quota.baselines === undefined ? names.categories : [...quota.baselines.personal.keys()]
  return alerts.flatMap((alert, i) => {
    const path = ['alerts', i]
    return [
      ...checkName(alert, alerts.slice(0, i), path),
      ...checkThresholds(alert, path),
      ...checkPlace(alert, path),
      ...(alert.category === undefined || categories === null
        ? []
        : unknownName(alert.category, categories, path, 'category')),
      ...(alert.window === undefined || windows === null ? [] : unknownName(alert.window, windows, path, 'window')),
      ...checkScope(alert, quota, path),
      ...checkUrl(alert, path),
    ]
  })
}

function checkName({ name }: ParsedAlert, before: readonly ParsedAlert[], path: Path): Finding[] {
  if (name === undefined || before.every((other) => other.name !== name)) return []
  return [{ path: [...path, 'name'], message: `${quote(name)} is the name of an alert above: choose another` }]
}

function checkThresholds({ at = [] }: ParsedAlert, path: Path): Finding[] {
  const twice = at.findIndex((share, i) => at.indexOf(share) < i)
  return twice < 0 ? [] : [{ path: [...path, 'at', twice], message: 'is there twice: remove one' }]
}

/** An alert about a window names a category and a window. Alerts of other kinds name neither, but have keys of their own. */
function checkPlace(alert: ParsedAlert, path: Path): Finding[] {
  const { scope } = alert
  if (scope === undefined) return []
  const isWritten = kindOf(scope).hasWindow
  const wrong = (['category', 'window'] as const).filter(
    (key) => key in alert && (alert[key] !== undefined) !== isWritten,
  )
  return [
    ...wrong.map((key) => ({
      path: [...path, key],
      message: isWritten
        ? `is missing: write the ${key === 'category' ? 'category' : 'name'} of the window`
        : `is not for scope ${scope}: remove it`,
    })),
    ...strangeKeys(alert, scope).map(({ key, only }) => ({
      path: [...path, key],
      message: `is for scope ${only} only: remove it`,
    })),
  ]
}

/** Warns of alerts that are never raised, because nothing limits their window. */
function checkScope({ scope, category, window }: ParsedAlert, quota: PartialConfig['quota'], path: Path): Finding[] {
  if (scope === 'global' && quota.global?.enabled === false) {
    const message = 'is never reached while quota.global.enabled is false: switch the global limits on, or remove it'
    return [{ path: [...path, 'scope'], severity: 'warning', message }]
  }
  if (scope === 'global' && quota.baselines?.global.size === 0) {
    const message = 'is never reached, since all users together have no limit: add quota.baselines.global, or remove it'
    return [{ path: [...path, 'scope'], severity: 'warning', message }]
  }
  if (category === undefined || window === undefined || scope === undefined || !isOfWindows(scope)) return []
  const tables = tablesOf(scope, quota)
  if (
    tables === null ||
    quota.baselines?.personal.has(category) === false ||
    tables.some((table) => (table.get(category)?.get(window) ?? UNLIMITED) !== UNLIMITED)
  )
    return []
  const message = `is never reached, since ${NOTHING_LIMITS[scope](window, category)}, or remove the alert`
  return [{ path: [...path, 'scope'], severity: 'warning', message }]
}

function isOfWindows(scope: AlertScope): scope is ScopeName {
  return kindOf(scope).hasWindow
}

const NOTHING_LIMITS: Readonly<Record<ScopeName, (window: string, category: string) => string>> = {
  personal: (window, category) =>
    `category ${category} has no limit in window ${window}: add it to quota.baselines.personal`,
  organisation: (window, category) =>
    `no plan limits window ${window} of category ${category} of organisations: add it to quota.plans`,
  global: (window, category) =>
    `category ${category} has no limit of all users together in window ${window}: add it to quota.baselines.global`,
}

/** The tables with limits of a scope; `null` if they cannot be read. */
function tablesOf(scope: ScopeName, quota: PartialConfig['quota']): readonly LimitTable[] | null {
  const { baselines, plans } = quota
  if (scope === 'global') return baselines === undefined ? null : [baselines.global]
  const ofPlans = [...(plans?.values() ?? [])].map((plan) => plan[scope])
  if (scope === 'organisation') return 'plans' in quota ? ofPlans : null
  return baselines === undefined ? null : [baselines.personal, ...ofPlans]
}

/** Events name users. A signature protects them from forgery, but not from being read. */
function checkUrl({ webhook }: ParsedAlert, path: Path): Finding[] {
  const url = webhook?.url
  if (url === undefined) return []
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''))) return []
  const message = 'is http, so anyone on the way can read who has used how much: write https'
  return [{ path: [...path, 'webhook', 'url'], severity: 'warning', message }]
}
