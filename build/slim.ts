import { readdirSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Leaves in `node_modules` only what runs, and the licences: for the image. What goes are types, sources, maps, documentation
 * and tests of the packages, and the command of npm, which looks whether Node is new enough: the image brings its Node.
 */

const RUNS = /\.(?:[cm]?js|json|node|wasm)$/
const LICENCE = /licen[cs]e|copying|notice/i
/** Right under a package only: further in `doc` or `test` may be code. */
const ASIDE =
  /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/@.][^/]*\/(?:tests?|test\.[cm]?js|__tests__|bench(?:marks?)?|docs?|examples?|integration|\.[^/]+)$/

const root = 'node_modules'
for (const command of [join(root, '.bin'), 'dist/bin']) rmSync(command, { recursive: true, force: true })
for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name)
  const runs = entry.isDirectory() || RUNS.test(entry.name) || LICENCE.test(entry.name)
  if (!runs || ASIDE.test(path)) rmSync(path, { recursive: true, force: true })
}
removeEmpty(root)

/** @returns whether the folder was empty and is gone */
function removeEmpty(folder: string): boolean {
  const left = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => !(entry.isDirectory() && removeEmpty(join(folder, entry.name))),
  )
  if (left.length === 0) rmdirSync(folder)
  return left.length === 0
}
