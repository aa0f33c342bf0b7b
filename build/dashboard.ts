import { cpSync, globSync, mkdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Builds the pages, the dashboard and the API reference, each only if a source is newer than the built page. So the start
 * and the tests can call it each time. `--force` builds in any case.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const RENDERER = join(root, 'node_modules/swagger-ui-dist')
const isForced = process.argv.includes('--force')

const PAGES = [
  {
    config: 'vite.config.ts',
    output: 'dist/dashboard',
    sources: ['src/dashboard/**/*', 'src/contract/api.ts'],
    notices: [],
  },
  {
    config: 'vite.reference.config.ts',
    output: 'dist/reference/page',
    sources: ['src/reference/page/**/*', 'src/reference/selection.ts'],
    // Swagger UI is under the Apache licence, which demands these files in every copy.
    notices: ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt'],
  },
] as const

for (const page of PAGES) if (isForced || isStale(page)) await build(page)

async function build({ config, output, notices }: (typeof PAGES)[number]): Promise<void> {
  const target = join(root, output)
  // The new page is built beside the old one and then takes its place, so that a running gateway never sees half of it.
  const fresh = `${target}.${process.pid}`
  mkdirSync(dirname(target), { recursive: true })
  const vite = await import('vite')
  await vite.build({ configFile: join(root, config), logLevel: 'warn', build: { outDir: fresh } })
  for (const notice of notices) cpSync(join(RENDERER, notice), join(fresh, 'licenses/swagger-ui', notice))
  utimesSync(join(fresh, 'index.html'), new Date(), new Date())
  rmSync(target, { recursive: true, force: true })
  renameSync(fresh, target)
}

function isStale({ config, output, sources }: (typeof PAGES)[number]): boolean {
  const built = timeOf(join(root, output, 'index.html'))
  const patterns = [...sources, config, 'package-lock.json']
  return patterns.some((pattern) => globSync(pattern, { cwd: root }).some((file) => timeOf(join(root, file)) > built))
}

/** The time of the last change, in milliseconds; 0 for a missing file. */
function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
