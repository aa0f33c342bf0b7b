import type { LimitTable } from '../../quota/limit-layers.ts'
import type { PartialConfig } from '../partial.ts'
import type { Finding, Path } from '../problems.ts'
import { isCharged, metersOf } from './meters.ts'

/** Warns of built-in limits that apply to charged categories because none are configured, and shows how to write the same limits. */
export function checkUnwritten(
  { quota: { windows, baselines }, routes, unmatched }: PartialConfig,
  lineOf: (path: Path) => number | null,
): Finding[] {
  if (windows !== undefined || baselines === undefined) return []
  const rules = [...routes, ...(unmatched?.kind === 'charge' ? [unmatched] : [])]
  const charged = rules.flatMap((rule) => metersOf(rule)).filter(isCharged)
  const isWritten = (category: string): boolean => lineOf(['quota', 'baselines', 'personal', category]) !== null
  const named = new Set(charged.map(({ category = '' }) => category))
  const unwritten = [...baselines.personal.keys()].filter((category) => named.has(category) && !isWritten(category))
  if (unwritten.length === 0) return []
  const scopes = [
    ['personal', rowsOf(baselines.personal, unwritten)],
    ['global', rowsOf(baselines.global, unwritten)],
  ] as const
  const written = inBraces(scopes.filter(([, rows]) => rows.length > 0).map(([name, rows]) => [name, inBraces(rows)]))
  const message = `nobody wrote limits for ${unwritten.join(' and ')}, so built-in ones hold: write your own below quota, for example those in force, baselines: ${written}`
  return [{ path: ['quota', 'baselines'], severity: 'warning', message }]
}

function rowsOf(table: LimitTable, categories: readonly string[]): (readonly [string, string])[] {
  return [...table]
    .filter(([category]) => categories.includes(category))
    .map(([category, row]) => [category, inBraces([...row])])
}

/** A map as one line of YAML. */
function inBraces(entries: readonly (readonly [string, string | number])[]): string {
  return `{ ${entries.map(([name, value]) => `${name}: ${value}`).join(', ')} }`
}
