import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CATALOGUE, type Group } from './catalogue.ts'

const PAGE = 'docs/contributing/faults.md'

const INTRO = `# Faults

For operators who ask "what if": the faults that \`test/faults\` makes with real processes and sockets.

**The measure.** Charges in the store are the requests that the upstream saw or may have seen, less refunds. No limit is exceeded, nothing is charged twice, gateways recover by themselves. After a fault of Redis no effect comes later.

**[Outage](../outage.md)** shows as \`store_errors_total\` with the reason, \`store_circuit_open\`, and "the store is out" in the log. Afterwards what was admitted is charged exactly once.

Metric names begin with \`tollgate_\`. See also [the simulation](simulation.md).

\`FAULTS_PAGE=write vitest run test/faults/table.test.ts\` makes this page of \`test/faults/catalogue.ts\`.
`

/** Rows that differ in the fault only are one. */
function linesOf(rows: Group['rows']): string[] {
  const faults = new Map<string, string[]>()
  for (const { fault, does, shows, introduced } of Object.values(rows)) {
    if (introduced) continue
    const rest = `| ${does} | ${shows} |`
    faults.set(rest, [...(faults.get(rest) ?? []), fault])
  }
  return [...faults].map(([rest, of]) => `| ${of.join(';<br> ')} ${rest}`)
}

function section({ title, file, note, rows }: Group): string {
  return [
    `## ${title}`,
    '',
    `\`${file}\`${note === undefined ? '' : `. ${note}`}`,
    '',
    '| Fault | Gateway | Operator sees |',
    '|---|---|---|',
    ...linesOf(rows),
    '',
  ].join('\n')
}

const page = [INTRO, ...CATALOGUE.map(section)].join('\n')

describe('the table of faults', () => {
  it('in the documentation is the one that is tested', () => {
    if (process.env.FAULTS_PAGE === 'write') writeFileSync(PAGE, page)
    expect(readFileSync(PAGE, 'utf8')).toBe(page)
  })

  it.each(CATALOGUE)('the table of faults has a test for each row of "$title"', ({ file, rows }) => {
    const source = readFileSync(file, 'utf8')
    // Named in a call, or as a key of the rows that a loop makes into calls.
    const named = (id: string): boolean => source.includes(`'${id}'`) || new RegExp(`^\\s+${id}: `, 'm').test(source)
    expect(Object.keys(rows).filter((id) => !named(id))).toEqual([])
    expect(new Set(Object.values(rows).map((row) => row.fault)).size).toBe(Object.keys(rows).length)
  })
})
