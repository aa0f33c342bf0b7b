import { constants } from 'node:fs'
import { access, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { messageOf } from '../../errors.ts'
import { cureOf } from './cures.ts'
import { recognise } from './schema.ts'

/**
 * Why this file cannot hold a store; `null` if no reason is found. The file is not opened for writing, because that would
 * make a missing file.
 */
export async function whyUnusable(path: string): Promise<string | null> {
  if (path === ':memory:') return null
  const found = await stat(path).catch(() => null)
  if (found !== null && !found.isFile()) {
    return `${JSON.stringify(path)} is not a regular file: name the file of the store`
  }
  const folder = dirname(path)
  // With a slash at its end the path must be a folder.
  const ofFolder = await unwritable(folder, `${folder}/`)
  if (ofFolder !== null || found === null) return ofFolder
  return (await unwritable(path, path)) ?? (await notDatabase(path)) ?? notOurs(path)
}

async function unwritable(named: string, asked: string): Promise<string | null> {
  try {
    await access(asked, constants.R_OK | constants.W_OK)
    return null
  } catch (error) {
    const { code = 'error' } = error as NodeJS.ErrnoException
    const cure = 'name a file in a folder that exists and that the user of the gateway may write'
    return `${JSON.stringify(named)} cannot be written (${code}): ${cure}`
  }
}

async function notDatabase(path: string): Promise<string | null> {
  if (await beginsLikeOne(path)) return null
  return `${JSON.stringify(path)} is not a database: name one that Tollgate made, or a file that is yet to be made`
}

/** The first bytes of every database of SQLite, which can also use an empty file. https://www.sqlite.org/fileformat.html */
const MAGIC = 'SQLite format 3\0'

async function beginsLikeOne(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAGIC.length))
    return bytesRead === 0 || buffer.toString('latin1') === MAGIC
  } finally {
    await file.close()
  }
}

/**
 * Reads the file as immutable, so no file is made beside it and no lock is taken. Changes that a running gateway has only
 * in its log are not seen.
 */
function notOurs(path: string): string | null {
  const database = new DatabaseSync(new URL('?immutable=1', pathToFileURL(path)), { readOnly: true })
  try {
    recognise(database)
    return null
  } catch (error) {
    const why = messageOf(error)
    return `${JSON.stringify(path)} cannot be used (${why}): ${cureOf(why) ?? 'name another file'}`
  } finally {
    database.close()
  }
}
