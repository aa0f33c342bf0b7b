import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { sectionText, writeInto } from '../../bench/report.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('a missed bound is told as plainly as one that is met', () => {
  const figure = (name: string, value: number) =>
    ({ name, unit: 'us', values: [value, value + 2], target: { atMost: 6 } }) as const
  const text = sectionText({ title: 'Title', lines: [], figures: [figure('a', 4), figure('b', 7)] })
  expect(text).toContain('| a      | 5.0 us (4.0 to 6.0) | at most 6 us | met     |')
  expect(text).toContain('| b      | 8.0 us (7.0 to 9.0) | at most 6 us | not met |')
})

test('a new result replaces the old one and leaves what people wrote around it', () => {
  const file = pathToFileURL(join(folder, 'page.md'))
  const marker = (which: string): string => `<!-- made by "npm run bench -- --write": ${which} -->`
  writeFileSync(file, `Before\n${marker('begin')}\nold\n${marker('end')}\nAfter\n`)
  writeInto(file, 'new')
  expect(readFileSync(file, 'utf8')).toBe(`Before\n${marker('begin')}\n\nnew\n\n${marker('end')}\nAfter\n`)
})

test('a page without markers is left alone', () => {
  const file = pathToFileURL(join(folder, 'other.md'))
  writeFileSync(file, 'text')
  expect(() => writeInto(file, 'new')).toThrow('lost its markers')
  expect(readFileSync(file, 'utf8')).toBe('text')
})
