import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Pages that are reached from another one, which lists them. */
const LISTED_ELSEWHERE = /^docs\/(?:README\.md$|contributing\/decisions\/(?!README))/

test('the table of contents has every page once', () => {
  const contents = readFileSync('docs/README.md', 'utf8').split('\n## ').slice(1).join('\n')
  const linked = [...contents.matchAll(/\]\(([^)#]+\.md)\)/g)].map(([, path = '']) => join('docs', path))
  const pages = globSync('docs/**/*.md').filter((page) => !LISTED_ELSEWHERE.test(page))
  expect(linked.filter((path) => path.startsWith('docs/')).sort()).toEqual(pages.sort())
})
