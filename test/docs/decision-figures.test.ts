import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, test } from 'vitest'

/**
 * What a decision costs is its argument, so its lines are counted: each figure of lines in `docs/contributing/decisions` is followed by the files
 * that it counts, as in "about 150 lines (`lib/json-members.ts`, `lib/json-*.ts`)", and is within a tenth of what they have.
 */

interface Figure {
  readonly said: string
  readonly lines: number
  /** Below `src`, with `*` for any name. */
  readonly files: readonly string[]
}

function figuresIn(markdown: string): Figure[] {
  return [...markdown.matchAll(/\b(\d[\d,]*) lines\b(?: \((`[^)]*`)\))?/g)].map(([said, digits = '', list = '']) => ({
    said,
    lines: Number(digits.replaceAll(',', '')),
    files: [...list.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
  }))
}

function linesOf(pattern: string): number {
  const files = globSync(join('src', pattern))
  if (files.length === 0) throw new Error(`src/${pattern} is no file`)
  return files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0)
}

/** What is wrong with the figures of a text, as sentences. */
function wrongIn(markdown: string): string[] {
  return figuresIn(markdown).flatMap(({ said, lines, files }) => {
    if (files.length === 0) return [`"${said}" does not say of which files`]
    const counted = files.map(linesOf).reduce((sum, each) => sum + each)
    return Math.abs(lines - counted) <= counted / 10 ? [] : [`"${said}": they have ${counted}`]
  })
}

it.each(globSync('docs/contributing/decisions/*.md').sort())(
  '%s quotes lines as they are counted today',
  (document) => {
    expect(wrongIn(readFileSync(document, 'utf8'))).toEqual([])
  },
)

test('a figure of lines without files is found, and one that is a tenth or more away from what its files have', () => {
  const counted = linesOf('errors.ts')
  expect(wrongIn(`It has ${counted} lines (\`errors.ts\`), and lines of others.`)).toEqual([])
  expect(wrongIn('It costs 1,202 lines.')).toEqual(['"1,202 lines" does not say of which files'])
  const wrong = `${counted * 2} lines (\`errors.ts\`)`
  expect(wrongIn(wrong)).toEqual([`"${wrong}": they have ${counted}`])
  expect(() => wrongIn('9 lines (`gone.ts`)')).toThrow('src/gone.ts is no file')
})
