import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Empties `dist`, so that nothing of an older build stays. The pages stay: a gateway may be running with them, and their own
 * build replaces each whole.
 */

const PAGES = ['dashboard', join('reference', 'page')]
const dist = fileURLToPath(new URL('../dist', import.meta.url))

mkdirSync(dist, { recursive: true })
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name)
  const isOfPage = PAGES.some((page) => relative(dist, path).startsWith(page + sep))
  if (!entry.isDirectory() && !isOfPage) rmSync(path)
}
