import { statSync } from 'node:fs'

/**
 * Identifies the file at a path: another file in its place has another identity.
 * @returns `null` without a file that can be looked at, as for a store in memory
 */
export function fileIdentity(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
