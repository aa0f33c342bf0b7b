import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Builds the site of the documents into build/site/dist: `npm run site`, or `npm run site -- /tollgate/` for a host where it is below that
 * path. The builder is a package of its own, which is installed at first use, so that no other command needs it.
 */

const SITE = fileURLToPath(new URL('.', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The builder looks for its packages from the folder of the pages upwards, so it gets copies. */
const PAGES = join(SITE, 'pages')
const DOCUMENTS = ['*.md', 'docs/**/*.md', 'docs/images/*', 'helm/README.md']

/** Whether the installed packages are those of the lock file. Packages for other systems are in the lock file only. */
function isInstalled(): boolean {
  const installed = join(SITE, 'node_modules', '.package-lock.json')
  if (!existsSync(installed)) return false
  const wanted = packagesOf(join(SITE, 'package-lock.json'))
  return Object.entries(packagesOf(installed)).every(([name, { version }]) => wanted[name]?.version === version)
}

function packagesOf(lock: string): Readonly<Record<string, { readonly version: string }>> {
  return JSON.parse(readFileSync(lock, 'utf8')).packages
}

function copyPages(): void {
  rmSync(PAGES, { recursive: true, force: true })
  for (const path of globSync(DOCUMENTS, { cwd: ROOT })) {
    cpSync(join(ROOT, path), join(PAGES, path), { recursive: true })
  }
}

/** @param base the path of the site on its host, with a slash at both ends */
export function buildSite(base = '/'): void {
  if (!isInstalled()) {
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: SITE, stdio: 'inherit' })
  }
  copyPages()
  const main = join(SITE, 'node_modules/vitepress/bin/vitepress.js')
  const env = { ...process.env, SITE_BASE: base }
  execFileSync(process.execPath, [main, 'build', '.'], { cwd: SITE, stdio: 'inherit', env })
}

if (import.meta.main) buildSite(process.argv[2])
