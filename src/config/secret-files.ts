import { resolve } from 'node:path'
import { unreadable } from '../errors.ts'
import { readRegularSync, TOO_LARGE } from '../lib/regular-file.ts'
import { quote } from './problems.ts'
import type { Reading } from './units.ts'

/** Returns the text of a file, by its path. It never throws, and problems never repeat the text. */
export type ReadSecret = (path: string) => Reading<string>

/** The largest file in bytes. A secret has a few hundred bytes, and a key in PEM a few thousand. */
const MAX_SECRET = 65_536

/**
 * Reads secrets from files. Each file is read once, so that it has one text even if it is replaced meanwhile.
 * @param folder the folder to which paths are relative
 */
export function secretFiles(folder: string): ReadSecret {
  const known = new Map<string, Reading<string>>()
  return (path) => {
    const file = resolve(folder, path)
    const reading = known.get(file) ?? readSecret(file)
    known.set(file, reading)
    return reading
  }
}

function readSecret(file: string): Reading<string> {
  const problem = (what: string) => ({ problem: `the file ${quote(file)} ${what}` })
  try {
    const bytes = readRegularSync(file, MAX_SECRET)
    // Editors and `echo` add a line end.
    const value = new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '')
    return value === '' ? problem('is empty: write the secret into it, and nothing else') : { value }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === TOO_LARGE) return problem('is larger than 64 KiB: name one that holds the secret alone')
    return problem(code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is not UTF-8: save it so' : unreadable(code))
  }
}
