import { readdirSync, readFileSync } from 'node:fs'

/** How many files this process may have open; `null` if the system does not say, or has no limit. Node raises its own to the hard one. */
export function openFilesLimit(): number | null {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? null : Number(soft)
  } catch {
    return null
  }
}

/**
 * How many files this process has open; `null` if the system does not say. Without a free one nobody can look: then it is the limit.
 * @param limit as it was read before
 * @param look names those that are open, itself among them
 */
export function openFiles(limit: number | null, look = () => readdirSync('/proc/self/fd')): number | null {
  try {
    return look().length - 1
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EMFILE' ? limit : null
  }
}
