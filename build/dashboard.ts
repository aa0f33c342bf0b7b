import { globSync, mkdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Builds src/dashboard into dist/dashboard, only where a source is newer than what was built: so the start and the tests can
 * call it each time. `--force` builds in any case.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const output = join(root, 'dist/dashboard')
const SOURCES = ['src/dashboard/**/*', 'src/admin/api.ts', 'vite.config.ts', 'package-lock.json']

if (process.argv.includes('--force') || isStale()) {
  // Beside the old one and then in its place, so that a gateway that runs never meets half of it.
  const fresh = `${output}.${process.pid}`
  mkdirSync(join(root, 'dist'), { recursive: true })
  const { build } = await import('vite')
  await build({ configFile: join(root, 'vite.config.ts'), logLevel: 'warn', build: { outDir: fresh } })
  utimesSync(join(fresh, 'index.html'), new Date(), new Date())
  rmSync(output, { recursive: true, force: true })
  renameSync(fresh, output)
}

function isStale(): boolean {
  const built = timeOf(join(output, 'index.html'))
  return SOURCES.some((pattern) => globSync(pattern, { cwd: root }).some((file) => timeOf(join(root, file)) > built))
}

/** When it was last changed, in milliseconds; 0 where it is not there. */
function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
