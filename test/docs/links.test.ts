import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { remembered } from '../../src/lib/memo.ts'
import { DOCUMENTS } from './commands.ts'

/** Every link of a document within the project leads to a file, and to a heading of it where it names one. */

interface Link {
  readonly line: number
  /** Relative to the document; empty for the document itself. */
  readonly path: string
  readonly anchor: string | null
}

/** Without code, which may look like a link. */
function prose(markdown: string): string {
  const blank = (code: string): string => code.replace(/[^\n]/g, ' ')
  return markdown.replace(/^```[\s\S]*?^```$/gm, blank).replace(/`[^`\n]*`/g, blank)
}

function linksIn(markdown: string): Link[] {
  const pattern = /\]\(([^)\s]+)\)|(?:href|src)="([^"]+)"/g
  const text = prose(markdown)
  return [...text.matchAll(pattern)].flatMap((match) => {
    const target = match[1] ?? match[2] ?? ''
    if (/^[a-z]+:/.test(target)) return []
    const [path = '', anchor = null] = target.split('#')
    return [{ line: text.slice(0, match.index).split('\n').length, path, anchor }]
  })
}

/** As GitHub names headings: lower case, only letters, digits, "-" and "_", blanks become "-"; a second one of a name gets "-1". Notes have an id of their own. */
function anchorsOf(markdown: string): Set<string> {
  const seen = new Map<string, number>()
  const headings = [...markdown.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/^#{1,6} +(.+)$/gm)]
  const names = headings.map(([, heading = '']) => {
    const name = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    const before = seen.get(name) ?? 0
    seen.set(name, before + 1)
    return before === 0 ? name : `${name}-${before}`
  })
  const notes = [...markdown.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)
  return new Set([...names, ...notes])
}

const linksOf = remembered((document) => linksIn(readFileSync(document, 'utf8')))
const headingsOf = remembered((document) => anchorsOf(readFileSync(document, 'utf8')))

function problemOf(document: string, { path, anchor }: Link): string | null {
  const file = path === '' ? document : join(dirname(document), path)
  if (!existsSync(file)) return `no ${file}`
  if (anchor === null) return null
  return headingsOf(file).has(anchor) ? null : `no heading #${anchor} in ${file}`
}

describe('the links of', () => {
  it.each(DOCUMENTS)('%s lead somewhere', (document) => {
    const broken = linksOf(document).flatMap((link) => {
      const problem = problemOf(document, link)
      return problem === null ? [] : [`${document}:${link.line} ${problem}`]
    })
    expect(broken).toEqual([])
  })
})

test('a link that leads nowhere is found, one in code or out of the project is not looked at', () => {
  const text = '# A b\n[x](no.md) [y](#a-b) [z](#c)\n`[x](no.md)` <img src="no.png"> [w](https://a.example/)\n'
  expect(linksIn(text).map(({ path, anchor }) => [path, anchor])).toEqual([
    ['no.md', null],
    ['', 'a-b'],
    ['', 'c'],
    ['no.png', null],
  ])
  expect([...anchorsOf('## `a` & B_c\n### A\n## A\n```\n# d\n```\n')]).toEqual(['a--b_c', 'a', 'a-1'])
  expect(problemOf('README.md', { line: 1, path: 'docs/none.md', anchor: null })).toBe('no docs/none.md')
  expect(problemOf('README.md', { line: 1, path: '', anchor: 'none' })).toBe('no heading #none in README.md')
})

describe('a reader finds', () => {
  const others = DOCUMENTS.filter((document) => document.startsWith('docs/'))
  it.each(others)('%s from another document', (wanted) => {
    const from = DOCUMENTS.filter((document) =>
      linksOf(document).some(({ path }) => path !== '' && join(dirname(document), path) === wanted),
    )
    expect(from.filter((document) => document !== wanted).length).toBeGreaterThan(0)
  })
})
