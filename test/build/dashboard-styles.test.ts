import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

/** A page is loaded by itself, so it must bring the styles that it needs, whatever was opened before it. */

const ROOT = 'src/dashboard'
const sources = new Map<string, string>()

function sourceOf(file: string): string {
  const known = sources.get(file) ?? readFileSync(file, 'utf8')
  sources.set(file, known)
  return known
}

/** What a file imports, and what that imports, the file itself counted. Pages that are loaded later are not in it. */
function withImports(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  if (file.endsWith('.css')) return found
  for (const [, path = ''] of sourceOf(file).matchAll(/^(?:import (?!type)(?:.* from )?|\} from )'(\.[^']+)'/gm)) {
    const target = join(dirname(file), path)
    if (target.startsWith(ROOT)) withImports(target, found)
  }
  return found
}

const classesIn = (css: string): Set<string> =>
  new Set([...css.matchAll(/\.([a-z][\w-]*)(?=[^{}]*\{)/g)].map(([, name = '']) => name))

/** Only what is written out: no name that is put together. */
const usedIn = (source: string): string[] =>
  [...source.matchAll(/className=(?:"([^"]*)"|\{([^}]*)\})/g)].flatMap(([, plain = '', code = '']) =>
    [plain, ...[...code.matchAll(/['`]([^'`$]*)/g)].map(([, text = '']) => text)].flatMap(
      (text) => text.match(/[a-z][\w-]*/g) ?? [],
    ),
  )

const frame = withImports(`${ROOT}/main.tsx`)
const PAGES = [...sourceOf(`${ROOT}/app.tsx`).matchAll(/import\('\.\/([^']+)'\)/g)].map(([, path]) => `${ROOT}/${path}`)
const styles = [...new Set(PAGES.flatMap((page) => [...withImports(page)]))].filter((file) => file.endsWith('.css'))

test.each(PAGES)('%s brings the styles of every class that it has, also if it is opened first', (page) => {
  const loaded = new Set([...frame, ...withImports(page)])
  const has = (name: string, files: Iterable<string>) => [...files].some((file) => classesIn(sourceOf(file)).has(name))
  const loadedStyles = [...loaded].filter((file) => file.endsWith('.css'))
  const used = new Set(
    [...loaded].filter((file) => file.endsWith('.tsx')).flatMap((file) => [...usedIn(sourceOf(file))]),
  )
  expect([...used].filter((name) => has(name, styles) && !has(name, loadedStyles))).toEqual([])
})
