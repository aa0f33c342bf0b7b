import { messageOf, unreadable } from '../errors.ts'
import { readRegularSync } from '../lib/regular-file.ts'
import { SetupError } from './setup-error.ts'

/** Files in PEM that a configuration names. */

/** Adds the place in the configuration to an error of `read`. @param path of the key that names the file @throws SetupError with the cure */
export function named<T>(path: readonly (string | number)[], read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new SetupError(path, messageOf(error), error)
  }
}

/** @throws Error with the cure */
export function read(file: string): string {
  try {
    return readRegularSync(file).toString()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Error(`${file} ${unreadable(code)}`, { cause })
  }
}

/** @throws Error with the cure. The words of OpenSSL about a key are not repeated: they may hold a part of it. */
export function made<T>(file: string, what: string, make: () => T): T {
  try {
    return make()
  } catch {
    throw new Error(`${file} is not ${what}: replace it`)
  }
}
