import { cpSync, globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { anchorOf, linkOnSite, partsOf } from './contents.ts'

/** The site is made from the pages of the repository: `npm run site`. */

const ROOT = fileURLToPath(new URL('../pages/', import.meta.url))
const textOf = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8')
const PAGES = new Set(globSync(['*.md', 'docs/**/*.md', 'helm/README.md'], { cwd: ROOT }))
const IMAGES = 'docs/images/'
const REPOSITORY = String(
  JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).repository,
).replace(/^git\+|\.git$/g, '')

/** The path of the site on its host, with a slash at both ends. */
const BASE = process.env.SITE_BASE ?? '/'

/** README.md is the page of its folder. */
const FOLDERS = [...PAGES].filter((page) => page.endsWith('README.md'))

export default defineConfig({
  title: 'Tollgate',
  description: 'A reverse proxy that gives every user of your HTTP API a quota',
  base: BASE,
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache',
  rewrites: Object.fromEntries(FOLDERS.map((page) => [page, page.replace(/README\.md$/, 'index.md')])),
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark' },
    // {id} at the end of a heading is a part of its path.
    attrs: { disable: true },
    // Addresses in a text are examples.
    linkify: false,
    anchor: { slugify: anchorOf },
    config: (md) => {
      const before = md.renderer.rules.link_open
      md.renderer.rules.link_open = (tokens, i, options, env, self) => {
        const link = tokens[i]?.attrGet('href')
        if (link != null)
          tokens[i]?.attrSet(
            'href',
            linkOnSite(link, pageOf(env), (path) => PAGES.has(path), REPOSITORY),
          )
        return before?.(tokens, i, options, env, self) ?? self.renderToken(tokens, i, options)
      }
      md.renderer.rules.html_inline = (tokens, i, _options, env) => htmlOnSite(tokens[i]?.content ?? '', pageOf(env))
      md.renderer.rules.html_block = md.renderer.rules.html_inline
      // Two braces in the text of a page are no expression.
      md.renderer.rules.text = (tokens, i) =>
        md.utils.escapeHtml(tokens[i]?.content ?? '').replaceAll('{{', '&#123;&#123;')
    },
  },
  // Pages link to pictures of full size.
  buildEnd: ({ outDir }) => cpSync(`${ROOT}${IMAGES}`, `${outDir}/${IMAGES}`, { recursive: true }),
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    sidebar: partsOf(textOf('docs/README.md')).map(({ text, items }) => ({ text, items: [...items] })),
    nav: [
      { text: 'Start', link: '/docs/getting-started' },
      { text: 'Configuration', link: '/docs/reference/configuration' },
      { text: 'All pages', link: '/docs/' },
    ],
  },
})

/** HTML in a page, with links that work on the site. The builder finds images by paths that begin with `./`, and leaves links alone. */
function htmlOnSite(html: string, page: string): string {
  return html.replace(/ src="(?=\w)(?!\w+:)/g, ' src="./').replace(/ href="([^"]+)"/g, (_, link: string) => {
    const target = linkOnSite(link, page, (path) => PAGES.has(path) || path.startsWith(IMAGES), REPOSITORY)
    return ` href="${target.replace(/^\//, BASE).replace(/\.md(?=#|$)/, '.html')}"`
  })
}

/** The page that has a link, as a path from the root of the repository. */
function pageOf(env: { readonly path?: string }): string {
  return (env.path ?? '').slice(ROOT.length)
}
