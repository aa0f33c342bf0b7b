import { statSync } from 'node:fs'

/**
 * Which file a path names: another one in its place has another identity.
 * @returns `null` without a file that can be looked at, as of a store in memory
 */
export function fileIdentity(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
