import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { open } from 'node:fs/promises'

/** The error code for a pipe or a device, which may have no end. `unreadable` of `errors.ts` has the words for it. */
export const ENDLESS = 'ENDLESS'

/**
 * A pipe may take the place of a file at any moment, also between a look at the file and its opening. With this flag
 * nobody waits for a writer.
 */
const AT_ONCE = constants.O_RDONLY | constants.O_NONBLOCK

/** Whether a reader may wait for ever: at a pipe without a writer, or at a device. */
export function isEndless(found: Stats): boolean {
  return found.isFIFO() || found.isCharacterDevice()
}

/** The error code for a file that is larger than allowed. */
export const TOO_LARGE = 'TOO_LARGE'

function insist(found: Stats, most = Number.POSITIVE_INFINITY): void {
  if (isEndless(found)) throw Object.assign(new Error('not a regular file'), { code: ENDLESS })
  if (found.size > most) throw Object.assign(new Error('too large'), { code: TOO_LARGE })
}

/**
 * The bytes of a file that may be replaced while the process runs.
 * @param most the most bytes; a larger file is not read. Default any number
 * @throws Error with a `code`: that of the system, ENDLESS or TOO_LARGE
 */
export function readRegularSync(file: string, most = Number.POSITIVE_INFINITY): Buffer {
  const fd = openSync(file, AT_ONCE)
  try {
    insist(fstatSync(fd), most)
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Reads such a file of any size without blocking the event loop. @throws Error with a `code`: that of the system, or ENDLESS */
export async function readRegular(file: string): Promise<Buffer> {
  const handle = await open(file, AT_ONCE)
  try {
    insist(await handle.stat())
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}
