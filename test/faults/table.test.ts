import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CATALOGUE, type Group } from './catalogue.ts'

const PAGE = 'docs/faults.md'

const INTRO = `# Faults

What is broken on purpose in \`test/faults\`, with real processes, sockets and a proxy, and what holds then. For operators who ask "what if", and for contributors.

**The measure.** Charges in the store are the requests that the upstream saw or may have seen, less refunds. No limit is exceeded, nothing is charged twice, every request is settled. Gateways recover by themselves.
Faults of the store strike limits of users and of everybody for a day, and of organisations for a month in Asia/Kathmandu.

**Outage**, on the left: charged requests follow \`quota.store_outage\` ([the rules](outage.md)). When the store is back, what was admitted is charged, and what was charged for nobody is given back, exactly.

**Outage**, on the right: \`store_errors_total\` with the reason, \`store_circuit_open\`, "the store is out" once in the log, and its errors once in each interval. \`/readyz\` has 503, or 200 with \`degraded\` if a share may be admitted.

Metric names begin with \`tollgate_\`. "The same" refers to the row above. See also [the simulation](simulation.md).

This page is made of \`test/faults/catalogue.ts\` by \`FAULTS_PAGE=write vitest run test/faults/table.test.ts\`. Faults of the store client alone are in \`test/store/redis\`, those of one gateway in \`test/e2e\` and \`test/forward\`.
`

function section({ title, file, note, rows }: Group): string {
  const lines = Object.values(rows).map(({ fault, does, shows }) => `| ${fault} | ${does} | ${shows} |`)
  return [
    `## ${title}`,
    '',
    `Test: \`${file}\`${note === undefined ? '' : `. ${note}`}`,
    '',
    '| Fault | What the gateway does | What the operator sees |',
    '|---|---|---|',
    ...lines,
    '',
  ].join('\n')
}

const page = [INTRO, ...CATALOGUE.map(section)].join('\n')

describe('the table of faults', () => {
  it('in the documentation is the one that is tested', () => {
    if (process.env.FAULTS_PAGE === 'write') writeFileSync(PAGE, page)
    expect(readFileSync(PAGE, 'utf8')).toBe(page)
  })

  it.each(CATALOGUE)('has a test for each row of "$title"', ({ file, rows }) => {
    const source = readFileSync(file, 'utf8')
    // Named in a call, or as a key of the rows that a loop makes into calls.
    const named = (id: string): boolean => source.includes(`'${id}'`) || new RegExp(`^\\s+${id}: `, 'm').test(source)
    expect(Object.keys(rows).filter((id) => !named(id))).toEqual([])
    expect(new Set(Object.values(rows).map((row) => row.fault)).size).toBe(Object.keys(rows).length)
  })
})
