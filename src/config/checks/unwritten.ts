import type { LimitTable } from '../../quota/limit-layers.ts'
import type { ParsedRoute, Salvage } from '../partial.ts'
import type { Finding, Path } from '../problems.ts'

/**
 * Warns of limits that hold although nobody wrote them, with the lines that say the same: those of a file without baselines, for the
 * categories that its rules charge.
 */
export function checkUnwritten(
  { quota: { windows, baselines }, routes, unmatched }: Salvage,
  lineOf: (path: Path) => number | null,
): Finding[] {
  if (lineOf(['quota', 'baselines']) !== null || windows !== undefined || baselines === undefined) return []
  const charged = [...routes, ...(unmatched?.kind === 'charge' ? [unmatched] : [])].filter(isCharged)
  const categories = new Set(charged.map(({ category }) => category))
  const lines = (table: LimitTable): string =>
    inBraces(
      [...table].filter(([category]) => categories.has(category)).map(([name, row]) => [name, inBraces([...row])]),
    )
  const personal = lines(baselines.personal)
  if (personal === NOTHING) return []
  const written = inBraces([
    ['personal', personal],
    ['global', lines(baselines.global)],
  ])
  const message = `nobody wrote limits, so built-in ones hold: write your own below quota, for example those in force, baselines: ${written}`
  return [{ path: ['quota', 'baselines'], severity: 'warning', message }]
}

function isCharged({ category, cost }: Partial<Pick<ParsedRoute, 'category' | 'cost'>>): boolean {
  return category !== undefined && !(cost?.kind === 'fixed' && cost.cost === 0)
}

const NOTHING = '{  }'

/** A map in one line of YAML. */
function inBraces(entries: readonly (readonly [string, string | number])[]): string {
  return `{ ${entries.map(([name, value]) => `${name}: ${value}`).join(', ')} }`
}
