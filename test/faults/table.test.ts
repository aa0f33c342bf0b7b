import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CATALOGUE, type Group } from './catalogue.ts'

const PAGE = 'docs/contributing/faults.md'

const INTRO = `# Faults

What happens if Redis loses a reply, or if a gateway is killed in the middle of a request? This page lists the faults that \`test/faults\` causes with real processes and sockets. For each fault it says what the gateway does, and what you see as the operator.

**The measure.** After each fault, the charges in the store must match the requests that the upstream saw or may have seen, less refunds. No limit is exceeded, nothing is charged twice, and the gateways recover by themselves. A fault of Redis has no late effects.

**As in an outage** means that the gateway decides without the store, as [While the store is out](../outage.md) explains. You see \`store_errors_total\` with the reason from the table, \`store_circuit_open\`, and "the store is out" in the log. Afterwards each admitted request is charged exactly once.

The names of all metrics begin with \`tollgate_\`. [The simulation](simulation.md) tests further faults.

\`FAULTS_PAGE=write vitest run test/faults/table.test.ts\` makes this page from \`test/faults/catalogue.ts\`.
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
