import type { ScopedTable } from '../../contract/api.ts'

/** Limits as lines of the configuration file. A scope without a limit is left out. */
export function baselinesText(limits: ScopedTable): string {
  const scopes = (['personal', 'global'] as const).flatMap((scope) => {
    const rows = Object.entries(limits[scope]).filter(([, row]) => Object.keys(row).length > 0)
    const lines = rows.map(([category, row]) => `      ${category}: { ${windowsText(row)} }`)
    return lines.length === 0 ? [] : [`    ${scope}:`, ...lines]
  })
  return ['quota:', '  baselines:', ...scopes].join('\n')
}

function windowsText(row: Readonly<Record<string, number>>): string {
  return Object.entries(row)
    .map(([window, limit]) => `${window}: ${limit}`)
    .join(', ')
}
