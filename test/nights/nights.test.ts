import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { NIGHTS } from './nights.ts'

const headings = [...readFileSync('docs/runbook.md', 'utf8').matchAll(/^## (.+)$/gm)].map(([, text = '']) =>
  text.toLowerCase().replaceAll(' ', '-'),
)

test.each(NIGHTS.map(({ name, runbook }) => [name, runbook]))(
  'the runbook has what to do when this is found: %s',
  (_name, runbook) => {
    expect(headings).toContain(runbook)
  },
)
