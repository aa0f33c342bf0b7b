import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../errors.ts'

/** The folder in which the demo keeps its databases and secrets; nobody else may read it. */
export interface Home {
  /** The path of something in the folder. */
  path(name: string): string
  /** What is kept under the name; `null` where there is nothing. */
  kept(name: string): string | null
  keep(name: string, text: string): string
  /** A secret that is made at the first start and kept. */
  secret(name: string): string
}

/** @throws Error where it cannot be a folder */
export function openHome(folder: string): Home {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const message = `${folder} cannot be the folder of the demo (${messageOf(cause)}): name another one by TOLLGATE_HOME`
    throw new Error(message, { cause })
  }
  const path = (name: string): string => join(folder, name)
  // An empty file is what a full disk or a kill has left of one.
  const kept = (name: string): string | null =>
    existsSync(path(name)) ? readFileSync(path(name), 'utf8').trim() || null : null
  const keep = (name: string, text: string): string => {
    writeFileSync(path(name), `${text}\n`, { mode: 0o600 })
    return text
  }
  const secret = (name: string): string => kept(name) ?? keep(name, randomBytes(32).toString('base64url'))
  return { path, kept, keep, secret }
}
