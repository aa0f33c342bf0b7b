import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it, test } from 'vitest'
import { DOCUMENTS } from './commands.ts'

/** A file of the project that a document names in code, as `src/errors.ts`, or `quota/charge.ts` for one of src, is there. */

interface Named {
  readonly line: number
  readonly path: string
}

/** What begins with a folder of the project, or is a path that ends as a source does. */
const PATH = /^(?:(?:src|test|build|bench|docs|helm|\.ci)\/[\w./-]+|[\w-]+(?:\/[\w.-]+)+\.(?:tsx?|lua))$/
/** Names that stand for any. */
const EXAMPLES = ['src/a/b.ts', 'test/a/b.test.ts']
/** Where a path may begin. */
const ROOTS = ['.', 'src', 'services', 'src/store/redis']

function namedIn(markdown: string): Named[] {
  const text = markdown.replace(/^```[\s\S]*?^```$/gm, (code) => code.replace(/[^\n]/g, ' '))
  return [...text.matchAll(/`([^`\s]+)`/g)].flatMap(({ index, 1: path = '' }) =>
    PATH.test(path) && !EXAMPLES.includes(path) ? [{ line: text.slice(0, index).split('\n').length, path }] : [],
  )
}

function isThere(document: string, path: string): boolean {
  return [...ROOTS, dirname(document)].some((root) => existsSync(join(root, path)))
}

it.each(DOCUMENTS)('%s names files that are there', (document) => {
  const gone = namedIn(readFileSync(document, 'utf8')).filter(({ path }) => !isThere(document, path))
  expect(gone.map(({ line, path }) => `${document}:${line} ${path}`)).toEqual([])
})

test('a file that is gone is found, and what is no file of ours is not looked at', () => {
  const text = 'a `src/errors.ts`\n`src/gone.ts` `quota/gone.lua` `/api/now` `application/json`\n```\n`src/b.ts`\n```\n'
  expect(namedIn(text)).toEqual([
    { line: 1, path: 'src/errors.ts' },
    { line: 2, path: 'src/gone.ts' },
    { line: 2, path: 'quota/gone.lua' },
  ])
  expect(['src/errors.ts', 'errors.ts', 'src/gone.ts'].map((path) => isThere('README.md', path))).toEqual([
    true,
    true,
    false,
  ])
})
