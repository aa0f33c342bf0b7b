import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { addressOf, anchorOf, linkOnSite, partsOf } from '../../build/site/.vitepress/contents.ts'

test('the parts of the table of contents are the sidebar of the site, each with its pages', () => {
  const text =
    '# Documents\n\nSee [a](a.md).\n\n## Start\n\n- [First](first.md): why\n- [A](a.md) and [B](guides/b.md#c), too\n\n## Operate\n'
  expect(partsOf(text)).toEqual([
    {
      text: 'Start',
      items: [
        { text: 'First', link: '/docs/first.md' },
        { text: 'A', link: '/docs/a.md' },
      ],
    },
    { text: 'Operate', items: [] },
  ])
  const parts = partsOf(readFileSync('docs/README.md', 'utf8'))
  expect(parts.map(({ text }) => text)).toEqual(expect.arrayContaining(['Start', 'Operate', 'Clients', 'References']))
  expect(parts[0]?.items[0]).toEqual({ text: 'Tollgate at a glance', link: '/index.md' })
})

test('a link to a page stays on the site, and one to another file leads to the repository', () => {
  const isPage = (path: string): boolean => ['docs/a.md', 'docs/guides/README.md', 'README.md'].includes(path)
  const on = (link: string): string =>
    linkOnSite(link, 'docs/guides/b.md', isPage, 'https://forge.example/team/tollgate')
  expect(on('../a.md#b')).toBe('/docs/a.md#b')
  expect(on('README.md')).toBe('/docs/guides/index.md')
  expect(on('../../src/errors.ts')).toBe('https://forge.example/team/tollgate/blob/main/src/errors.ts')
  expect(['#here', 'https://a.example/', '/docs/'].map(on)).toEqual(['#here', 'https://a.example/', '/docs/'])
  expect(addressOf('README.md')).toBe('/index.md')
})

test('an anchor on the site is the one that a forge makes of the same heading', () => {
  expect(anchorOf('`upstream.connect_timeout`')).toBe('upstreamconnect_timeout')
  expect(anchorOf('GET /api/users/{id}')).toBe('get-apiusersid')
  expect(anchorOf('Costs & limits')).toBe('costs--limits')
})
