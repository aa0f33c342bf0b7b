import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf } from '../../src/errors.ts'

/** The folder in which the demo keeps its databases and secrets. A folder that the demo makes is closed to other users. */
export interface Home {
  /** The path of a file in the folder. */
  path(name: string): string
  /** The text that is kept under the name; `null` if there is none. */
  kept(name: string): string | null
  keep(name: string, text: string): string
  /** A secret, which is made at the first start and kept. */
  secret(name: string): string
}

/** @throws Error with the cure if the folder cannot be made or used, as also each method of `Home` does */
export function openHome(folder: string): Home {
  const orReport = <T>(work: () => T): T => {
    try {
      return work()
    } catch (cause) {
      throw new Error(`${folder} cannot be the folder of the demo (${messageOf(cause)}): ${cureOf(cause)}`, { cause })
    }
  }
  orReport(() => {
    makeFolder(folder)
    // With the slash the path must be a folder.
    accessSync(`${folder}/`, constants.R_OK | constants.W_OK | constants.X_OK)
  })
  const path = (name: string): string => join(folder, name)
  // An empty file is left over from a full disk or a kill.
  const kept = (name: string): string | null =>
    existsSync(path(name)) ? orReport(() => readFileSync(path(name), 'utf8')).trim() || null : null
  const keep = (name: string, text: string): string => {
    orReport(() => writeFileSync(path(name), `${text}\n`, { mode: 0o600 }))
    return text
  }
  const secret = (name: string): string => kept(name) ?? keep(name, randomBytes(32).toString('base64url'))
  return { path, kept, keep, secret }
}

/** Makes the folder and its parents. With `recursive` Node 26.10 loops for ever in /proc, where nothing can be made. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
}

function cureOf(cause: unknown): string {
  const another = 'name another one by TOLLGATE_HOME'
  const isDenied = (cause as NodeJS.ErrnoException).code === 'EACCES'
  return isDenied ? `${another}, or give it to this user (chown -R), where another one has made it` : another
}
