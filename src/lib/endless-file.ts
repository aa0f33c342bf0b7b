import { type Stats, statSync } from 'node:fs'

/** What is said of a file that is never read. */
export const ENDLESS = 'is not a regular file: name one'

/** Whether whoever reads it may wait for ever: a pipe without a writer, or a device. */
export function isEndless(found: Stats): boolean {
  return found.isFIFO() || found.isCharacterDevice()
}

/** The same of a file by its path. One that cannot be looked at is reported by whoever reads it. */
export function isEndlessFile(file: string): boolean {
  try {
    return isEndless(statSync(file))
  } catch {
    return false
  }
}
