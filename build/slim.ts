import { readdirSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Leaves in `node_modules` of each package only its description and its licence, for the image. Its code is in the bundle, and these
 * files show what the bundle is made of. The command of npm that checks the version of Node is removed too: the image has its own
 * Node.
 */

const MANIFEST = /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/
const LICENCE = /(?:licen[cs]e|copying|notice)[^/]*$(?<!\.[cm]?[jt]s)/i

const root = 'node_modules'
for (const command of [join(root, '.bin'), 'dist/bin']) rmSync(command, { recursive: true, force: true })
for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name)
  if (!entry.isDirectory() && !MANIFEST.test(path) && !LICENCE.test(entry.name)) rmSync(path)
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
