import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { type Section, sectionText, writeReport, writeSections } from '../../bench/report.ts'
import { tempFolder } from '../setup/at-end.ts'

const folder = tempFolder()

test('a missed bound is told as plainly as one that is met', () => {
  const figure = (name: string, value: number) =>
    ({ name, unit: 'us', values: [value, value + 2], target: { atMost: 6 } }) as const
  const text = sectionText({ title: 'Title', intro: '', lines: [], figures: [figure('a', 4), figure('b', 7)] })
  expect(text).toContain('| a      | 5.0 us (4.0 to 6.0) | at most 6 us | met     |')
  expect(text).toContain('| b      | 8.0 us (7.0 to 9.0) | at most 6 us | not met |')
})

const marker = (which: string): string => `<!-- made by "npm run bench -- --write": ${which} -->`
const section = (title: string, line: string): Section => ({ title, intro: line, lines: [] })

function pageOf(name: string, text: string): URL {
  const file = pathToFileURL(join(folder, name))
  writeFileSync(file, text)
  return file
}

test('a new result replaces the old one and leaves what people wrote around it', () => {
  const page = pageOf('page.md', `Before\n${marker('begin')}\nold\n${marker('end')}\nAfter\n`)
  writeReport(page, { conditions: ['two cores', 'idle'], sections: [section('A', 'new'), section('B', 'too')] })
  const written = '- two cores\n- idle\n\n### A\n\nnew\n\n### B\n\ntoo'
  expect(readFileSync(page, 'utf8')).toBe(`Before\n${marker('begin')}\n\n${written}\n\n${marker('end')}\nAfter\n`)
})

test('a group that is measured alone takes the place of its section only, and says under what conditions', () => {
  const page = pageOf('apart.md', `Before\n${marker('begin')}\n${marker('end')}\n### B\n`)
  const whole = [section('A', 'a'), section('B and more', 'c'), section('B', 'b')]
  writeReport(page, { conditions: ['idle'], sections: whole })
  for (const line of ['again', 'once more'])
    writeSections(page, { conditions: ['busy'], sections: [section('B', line)] })
  const apart = '### B\n\nMeasured apart from the others:\n\n- busy\n\nonce more'
  const written = `- idle\n\n### A\n\na\n\n### B and more\n\nc\n\n${apart}`
  expect(readFileSync(page, 'utf8')).toBe(`Before\n${marker('begin')}\n\n${written}\n\n${marker('end')}\n### B\n`)
})

test('a group that the page does not have comes after the others', () => {
  const page = pageOf('without.md', `${marker('begin')}\n\n### A\n\na\n\n${marker('end')}\n`)
  writeSections(page, { conditions: ['idle'], sections: [section('B', 'b')] })
  const apart = '### B\n\nMeasured apart from the others:\n\n- idle\n\nb'
  expect(readFileSync(page, 'utf8')).toBe(`${marker('begin')}\n\n### A\n\na\n\n${apart}\n\n${marker('end')}\n`)
})

test('a page without markers is left alone', () => {
  const page = pageOf('other.md', 'text')
  expect(() => writeReport(page, { conditions: [], sections: [] })).toThrow('lost its markers')
  expect(readFileSync(page, 'utf8')).toBe('text')
})
