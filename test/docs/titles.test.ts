import { globSync, readFileSync } from 'node:fs'
import { parseSync } from 'rolldown/utils'
import { expect, test } from 'vitest'

/**
 * A test that fails is found by its title, and often nothing else of it is shown. So a title is a whole sentence of what the user may
 * rely on, and stands in one file. What a table fills in (`%s`) may be all of it, behind the sentence of its `describe`.
 */

interface Title {
  readonly file: string
  readonly title: string
}

/** With these begins what goes on from somewhere else. */
const FRAGMENT = /^(is|are|was|has|have|and|that|which|of)\b/
/** No word of it is written there. */
const isFilledIn = (title: string): boolean => !/[a-z]/i.test(title.replaceAll(/%\w|\$\w+/g, ''))

// biome-ignore lint/suspicious/noExplicitAny: any node of a program
type Node = any

function titlesIn(file: string, text = readFileSync(file, 'utf8')): Title[] {
  const titles: Title[] = []
  const walk = (node: Node): void => {
    if (node === null || typeof node !== 'object') return
    if (node.type === 'CallExpression' && isTest(node.callee) && node.arguments.length > 1) {
      const [{ type, value, start, end }] = node.arguments
      if (type === 'Literal') titles.push({ file, title: value })
      if (type === 'TemplateLiteral') titles.push({ file, title: text.slice(start + 1, end - 1) })
    }
    for (const child of Object.values(node)) walk(child)
  }
  walk(parseSync(file, text).program)
  return titles
}

/** `it`, `test`, and what is called on them, as `it.each([…])`. */
function isTest(callee: Node): boolean {
  if (callee.type === 'Identifier') return callee.name === 'it' || callee.name === 'test'
  const inner = callee.object ?? callee.callee ?? callee.tag
  return inner !== undefined && isTest(inner)
}

const TITLES = globSync('{test,services/test}/**/*.{test,suite}.ts').flatMap((file) => titlesIn(file))

test('every title is a whole sentence by itself', () => {
  expect(TITLES.length).toBeGreaterThan(4000)
  expect(TITLES.filter(({ title }) => FRAGMENT.test(title))).toEqual([])
})

test('no title stands in two files', () => {
  const sentences = TITLES.filter(({ title }) => !isFilledIn(title))
  const files = Map.groupBy(sentences, ({ title }) => title)
    .values()
    .map((alike) => [...new Set(alike.map(({ file }) => file))])
  expect(files.filter((several) => several.length > 1).toArray()).toEqual([])
})

test('a title is found in a table, in a template and below a describe', () => {
  const text =
    "describe('a', () => { it('is b', f); test.each([1])('that %s', f); it.each`x`(`of c`, f) })\nregex.test('x')"
  expect(titlesIn('a.ts', text).map(({ title }) => title)).toEqual(['is b', 'that %s', 'of c'])
})
