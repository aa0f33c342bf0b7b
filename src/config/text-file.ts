import { stat } from 'node:fs/promises'
import { unreadable } from '../errors.ts'
import { readRegular } from '../lib/regular-file.ts'
import type { Reading } from './units.ts'

export interface TextFile {
  /** The file that should be named, for the cure `name WHAT`. */
  readonly what: string
  /** The most bytes. */
  readonly most: number
  /** The problem of a larger file. */
  readonly tooLarge: string
  /** Whether a byte order mark stays in the text. Default no. */
  readonly ignoreBOM?: boolean
}

/** Reads a text in UTF-8 from a file that may be replaced meanwhile. Never rejects. */
export async function readText(
  file: string,
  { what, most, tooLarge, ignoreBOM = false }: TextFile,
): Promise<Reading<string>> {
  try {
    const found = await stat(file)
    // A pipe or a device might never end.
    if (!found.isFile()) return { problem: `is not a regular file: name ${what}` }
    if (found.size > most) return { problem: tooLarge }
    return { value: new TextDecoder('utf-8', { fatal: true, ignoreBOM }).decode(await readRegular(file)) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return { problem: 'is not UTF-8: save it in that encoding' }
    return { problem: unreadable(code) }
  }
}
